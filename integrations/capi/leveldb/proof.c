/* bloomline as LevelDB's filter policy, proved on a database on disk, and measured beside LevelDB's own filter.
 *
 *     proof check DIRECTORY              what must hold; exit 1 when it does not
 *     proof table DIRECTORY BLOCK_SIZE   absent gets per second, interleaved, for two sorts of keys
 *
 * 200,000 even keys are stored. LevelDB starts a filter for every 2 KiB of a table; with data blocks of 2 KiB each
 * block has its own, of some 17 keys. Nothing is compressed, so that blocks and filters are the same everywhere. */
#define _POSIX_C_SOURCE 200809L
#include <bloomline.h>
#include <dirent.h>
#include <leveldb/c.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "own_bloom.h"

enum { KEYS = 200000, KEY_BYTES = 16, VALUE_BYTES = 100, TRAILER_BYTES = 3, LONGEST = 512, ROUNDS = 15 };

static void stop(const char *what, const char *why) {
    fprintf(stderr, "proof: %s: %s\n", what, why);
    exit(1);
}

static int failures;
static void expect(int holds, const char *what) {
    printf("  %s  %s\n", holds ? "ok    " : "FAILED", what);
    failures += !holds;
}

/* SplitMix64 (Steele, Lea and Flood 2014): the same numbers in every run. */
static uint64_t seed = 1;
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
static uint64_t number(void) { return mix(seed += 0x9e3779b97f4a7c15u); }

/* The key of number i: i itself in hexadecimal digits, or scattered: another number for each i (mix is one-to-one). */
static int scattered;
static void make_key(uint64_t i, char key[KEY_BYTES]) {
    if (scattered) i = mix(i);
    for (int at = KEY_BYTES; at-- > 0; i >>= 4) key[at] = "0123456789abcdef"[i & 15];
}
static void make_value(uint64_t i, char value[VALUE_BYTES]) {
    for (int at = 0; at < VALUE_BYTES; at++) value[at] = (char)(mix(i + (uint64_t)(at / 8) * 0x10001) >> at % 8 * 8);
}

/* --- filter policies --- */

struct callbacks {
    void (*destroy)(void *);
    char *(*create)(void *, const char *const *, const size_t *, int, size_t *);
    uint8_t (*match)(void *, const char *, size_t, const char *, size_t);
    const char *(*name)(void *);
};

static uint8_t match_unverified(void *state, const char *key, size_t length, const char *filter, size_t filter_length) {
    return bloomline_policy_may_contain(state, filter, filter_length, key, length);
}

static const struct callbacks verified = {bloomline_leveldb_policy_destroy, bloomline_leveldb_policy_create_filter,
                                          bloomline_leveldb_policy_key_may_match, bloomline_leveldb_policy_name};
static const struct callbacks unverified = {bloomline_leveldb_policy_destroy, bloomline_leveldb_policy_create_filter,
                                            match_unverified, bloomline_leveldb_policy_name};
static const struct callbacks own = {own_bloom_destroy, own_bloom_create_filter, own_bloom_key_may_match,
                                     own_bloom_name};

static void *policy_of_seed(double bits_per_key, uint64_t with_seed) {
    void *policy = bloomline_policy_create("split-block", bits_per_key, with_seed, BLOOMLINE_COMPACT);
    if (!policy) stop("policy", bloomline_last_error());
    return policy;
}

/* A policy that counts. LevelDB makes filters on a thread of its own; they are asked on the caller's. */
struct counted {
    const struct callbacks *inner;
    void *state;
    atomic_int keys_of_length[LONGEST]; /* keys of the filters of so many bytes; -1 when they differ */
    unsigned long asked, cut, asked_of_length[LONGEST];
};

static char *counted_create(void *state, const char *const *keys, const size_t *lengths, int count, size_t *length) {
    struct counted *counted = state;
    char *filter = counted->inner->create(counted->state, keys, lengths, count, length);
    if (*length < LONGEST) {
        int before = counted->keys_of_length[*length];
        counted->keys_of_length[*length] = before == 0 || before == count ? count : -1;
    }
    return filter;
}
static uint8_t counted_match(void *state, const char *key, size_t length, const char *filter, size_t filter_length) {
    struct counted *counted = state;
    uint8_t answer = counted->inner->match(counted->state, key, length, filter, filter_length);
    counted->asked++;
    counted->cut += !answer;
    if (filter_length < LONGEST) counted->asked_of_length[filter_length]++;
    return answer;
}
static void counted_destroy(void *state) {
    struct counted *counted = state;
    counted->inner->destroy(counted->state);
    counted->inner = NULL;
}
static const char *counted_name(void *state) {
    struct counted *counted = state;
    return counted->inner->name(counted->state);
}

static leveldb_filterpolicy_t *install(const struct callbacks *callbacks, void *state) {
    return leveldb_filterpolicy_create(state, callbacks->destroy, callbacks->create, callbacks->match, callbacks->name);
}
static leveldb_filterpolicy_t *install_counted(const struct callbacks *callbacks, void *state,
                                               struct counted *counted) {
    static const struct callbacks counting = {counted_destroy, counted_create, counted_match, counted_name};
    memset(counted, 0, sizeof *counted);
    counted->inner = callbacks;
    counted->state = state;
    return install(&counting, counted);
}

/* --- databases --- */

struct database {
    leveldb_t *db;
    leveldb_options_t *options;
    leveldb_readoptions_t *reading;
    leveldb_filterpolicy_t *filters;
};

static struct database open_database(const char *directory, leveldb_filterpolicy_t *filters, size_t block_size,
                                     int paranoid) {
    struct database database = {NULL, leveldb_options_create(), leveldb_readoptions_create(), filters};
    leveldb_options_set_create_if_missing(database.options, 1);
    leveldb_options_set_compression(database.options, leveldb_no_compression);
    leveldb_options_set_block_size(database.options, block_size);
    leveldb_options_set_paranoid_checks(database.options, (uint8_t)paranoid);
    if (filters) leveldb_options_set_filter_policy(database.options, filters);
    char *error = NULL;
    database.db = leveldb_open(database.options, directory, &error);
    if (error) stop(directory, error);
    return database;
}

static void close_database(struct database database) {
    leveldb_close(database.db);
    leveldb_options_destroy(database.options);
    leveldb_readoptions_destroy(database.reading);
    if (database.filters) leveldb_filterpolicy_destroy(database.filters);
}

static int get(struct database database, uint64_t i) {
    char key[KEY_BYTES], value[VALUE_BYTES], *error = NULL;
    size_t length;
    make_key(i, key);
    char *found = leveldb_get(database.db, database.reading, key, sizeof key, &length, &error);
    if (error) stop("get", error);
    if (!found) return 0;
    make_value(i, value);
    if (length != sizeof value || memcmp(found, value, length) != 0) stop("get", "another value");
    leveldb_free(found);
    return 1;
}

/* How many of the keys first, first + 2, … are found. */
static unsigned long found_from(struct database database, uint64_t first) {
    unsigned long found = 0;
    for (uint64_t i = 0; i < KEYS; i++) found += get(database, 2 * i + first);
    return found;
}

static void fill(const char *directory, leveldb_filterpolicy_t *filters, size_t block_size) {
    struct database database = open_database(directory, filters, block_size, 0);
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    char key[KEY_BYTES], value[VALUE_BYTES], *error = NULL;
    for (uint64_t i = 0; i < KEYS && !error; i++) {
        make_key(2 * i, key);
        make_value(2 * i, value);
        leveldb_put(database.db, writing, key, sizeof key, value, sizeof value, &error);
    }
    if (error) stop("put", error);
    leveldb_compact_range(database.db, NULL, 0, NULL, 0); /* memory to disk, and all tables into one level */
    leveldb_writeoptions_destroy(writing);
    close_database(database);
}

/* --- tables on disk: https://github.com/google/leveldb/blob/1.23/doc/table_format.md --- */

struct table {
    char path[1024];
    uint8_t *bytes, *original;
    size_t size;
    uint8_t *filters; /* the filter block: filters, their offsets, the offset of those, and the base */
    size_t filters_size, offsets;
};

static uint32_t word(const uint8_t *at) { return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24; }
static uint64_t varint(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) break;
    }
    return value;
}

/* The files here were written by this program: offsets in them are believed. */
static void find_filters(struct table *table) {
    const uint8_t *footer = table->bytes + table->size - 48;
    const uint8_t *entry = table->bytes + varint(&footer); /* the index of what is no data: "filter.NAME" and where */
    varint(&entry);                                        /* bytes of the name shared with the one before: none */
    uint64_t name = varint(&entry);
    varint(&entry);
    if (name < 7 || memcmp(entry, "filter.", 7) != 0) stop(table->path, "no filters");
    entry += name;
    table->filters = table->bytes + varint(&entry);
    table->filters_size = varint(&entry);
    table->offsets = word(table->filters + table->filters_size - 5);
}

static int read_tables(const char *directory, struct table *tables, int room) {
    DIR *listing = opendir(directory);
    int count = 0;
    if (!listing) stop(directory, "can't be listed");
    for (struct dirent *entry; (entry = readdir(listing));) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".ldb") != 0) continue;
        if (count == room) stop(directory, "too many tables");
        struct table *table = &tables[count++];
        snprintf(table->path, sizeof table->path, "%s/%s", directory, entry->d_name);
        FILE *file = fopen(table->path, "rb");
        if (!file || fseek(file, 0, SEEK_END) != 0) stop(table->path, "can't be read");
        table->size = (size_t)ftell(file);
        rewind(file);
        table->bytes = malloc(table->size);
        table->original = malloc(table->size);
        if (table->size < 48 || fread(table->bytes, 1, table->size, file) != table->size) stop(table->path, "short");
        memcpy(table->original, table->bytes, table->size);
        fclose(file);
        find_filters(table);
    }
    closedir(listing);
    return count;
}

static void write_table(const struct table *table) {
    FILE *file = fopen(table->path, "wb");
    if (!file || fwrite(table->bytes, 1, table->size, file) != table->size || fclose(file) != 0)
        stop(table->path, "can't be written");
}

static void free_tables(struct table *tables, int count) {
    for (int i = 0; i < count; i++) {
        free(tables[i].bytes);
        free(tables[i].original);
    }
}

static size_t filters_of(const struct table *table) { return (table->filters_size - 5 - table->offsets) / 4; }
static uint8_t *filter_of(const struct table *table, size_t i, size_t *length) {
    const uint8_t *at = table->filters + table->offsets + 4 * i;
    *length = word(at + 4) - word(at); /* behind the last offset stands the end */
    return table->filters + word(at);
}

/* --- damage --- */

static void clear_bits(struct table *table) {
    for (size_t i = 0, length; i < filters_of(table); i++) {
        uint8_t *filter = filter_of(table, i, &length);
        for (size_t at = 0; at + TRAILER_BYTES < length; at++) filter[at] &= (uint8_t)(number() | number() | number());
    }
}
static void spoil_trailers(struct table *table) {
    for (size_t i = 0, length; i < filters_of(table); i++) {
        uint8_t *filter = filter_of(table, i, &length);
        for (size_t at = 0; length && at < TRAILER_BYTES; at++) filter[length - 1 - at] = (uint8_t)number();
    }
}
static void flip_trailer_bit(struct table *table) {
    for (size_t i = 0, length; i < filters_of(table); i++) {
        uint8_t *filter = filter_of(table, i, &length);
        uint64_t bit = number() % (8 * TRAILER_BYTES);
        if (length) filter[length - 1 - bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
/* LevelDB's own bytes: each block is given the filter of the next, whole and unchanged. */
static void shift_offsets(struct table *table) {
    uint8_t *offsets = table->filters + table->offsets;
    memmove(offsets, offsets + 4, 4 * (filters_of(table) - 1));
}

/* --- what is expected --- */

/* E[(X/m)^power], X the distinct bits of m that so many throws set, exactly. */
static double moment(int m, int throws, int power) {
    double *chance = calloc((size_t)m + 2, sizeof *chance), sum = 0;
    chance[0] = 1;
    for (int t = 0; t < throws; t++)
        for (int x = m; x >= 0; x--) chance[x] = chance[x] * x / m + (x ? chance[x - 1] * (m - x + 1) / m : 0);
    for (int x = 1; x <= m; x++) sum += chance[x] * pow((double)x / m, power);
    free(chance);
    return sum;
}

/* Of the questions asked: how many an ideal filter of the same geometry would wrongly answer "maybe", and the standard
 * deviation. Questions to one filter share its luck: n of them are not independent. */
static void expected_wrong(const struct counted *made, const struct counted *counted, double *wrong, double *sigma) {
    bloomline_policy *policy = policy_of_seed(10, 0);
    double variance = 0;
    *wrong = 0;
    for (int length = 0; length < LONGEST; length++) {
        double asked = (double)counted->asked_of_length[length];
        int keys = made->keys_of_length[length];
        if (!asked) continue;
        bloomline_plan plan;
        if (keys <= 0 || !bloomline_policy_plan(policy, (uint64_t)keys, &plan))
            stop("filters", "two numbers of keys, one length");
        int m = 8 * (length - TRAILER_BYTES), k = (int)plan.probes;
        double p = moment(m, keys * k, k), p2 = moment(m, keys * k, 2 * k);
        if (plan.bytes != (uint64_t)length || plan.bits != (uint64_t)m || fabs(plan.fpr / p - 1) > 1e-3)
            stop("plan", "not the filter that was made, or not its rate");
        *wrong += asked * p;
        variance += asked * (p * (1 - p) + keys * (p2 - p * p));
    }
    *sigma = sqrt(variance);
    bloomline_policy_free(policy);
}

/* --- check --- */

static const size_t SMALL_BLOCK = 2048;

/* Opens the database as it is on disk; returns how many of its keys are missing. */
static unsigned long missing(const char *directory, const struct callbacks *callbacks, int paranoid,
                             struct counted *counted) {
    leveldb_filterpolicy_t *filters = install_counted(callbacks, policy_of_seed(10, 0), counted);
    struct database database = open_database(directory, filters, SMALL_BLOCK, paranoid);
    leveldb_readoptions_set_verify_checksums(database.reading, 1); /* no help: it is for data blocks */
    unsigned long lost = KEYS - found_from(database, 0);
    close_database(database);
    return lost;
}

static void check_damage(const char *directory) {
    struct counted counted;
    struct table tables[64];
    int count = read_tables(directory, tables, 64);
    unsigned long lost;
    const struct {
        void (*damage)(struct table *);
        const char *what;
        int seen; /* by the checksum in the filter's own trailer */
    } kinds[] = {
        {clear_bits, "an eighth of the bits of all filters cleared", 1},
        {spoil_trailers, "all trailers overwritten by random bytes", 1},
        {flip_trailer_bit, "a bit of each trailer flipped", 1},
        {shift_offsets, "LevelDB's offsets: each block has the filter of the next", 0},
    };
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        printf("%s\n", kinds[kind].what);
        for (int i = 0; i < count; i++) {
            memcpy(tables[i].bytes, tables[i].original, tables[i].size);
            kinds[kind].damage(&tables[i]);
            write_table(&tables[i]);
        }
        lost = missing(directory, &verified, 0, &counted);
        printf("          default options: %lu of %d keys missing, %lu filters asked\n", lost, KEYS, counted.asked);
        if (kinds[kind].seen)
            expect(lost == 0 && counted.asked > 0, "default options: the policy sees it, none missing");
        else
            expect(lost > 0, "default options: neither LevelDB nor the policy sees it");
        if (kinds[kind].damage == clear_bits) {
            lost = missing(directory, &unverified, 0, &counted);
            printf("          without verifying: %lu keys missing\n", lost);
            expect(lost == 0, "nor then: filters of under 64 bytes are checked whole whenever they are asked");
        }
        lost = missing(directory, &verified, 1, &counted);
        expect(lost == 0 && counted.asked == 0, "paranoid_checks: LevelDB's CRC fires, none asked, none missing");
    }
    for (int i = 0; i < count; i++) {
        memcpy(tables[i].bytes, tables[i].original, tables[i].size);
        write_table(&tables[i]);
    }
    lost = missing(directory, &verified, 1, &counted);
    expect(lost == 0 && counted.asked > 0, "restored, paranoid_checks: the filters are asked again");
    free_tables(tables, count);
}

static void check(const char *directory) {
    static struct counted made, counted;
    printf("%d keys, bloomline %s, 10 bits a key, compact, blocks of %zu bytes\n", KEYS, bloomline_version(),
           SMALL_BLOCK);
    fill(directory, install_counted(&verified, policy_of_seed(10, 0), &made), SMALL_BLOCK);

    unsigned long lost = missing(directory, &verified, 0, &counted);
    expect(lost == 0, "closed and opened again, every key is found");
    expect(counted.asked == KEYS && counted.cut == 0, "each was asked of one filter, which let it through");

    struct database database =
        open_database(directory, install_counted(&verified, policy_of_seed(10, 0), &counted), SMALL_BLOCK, 0);
    unsigned long wrong_keys = found_from(database, 1);
    close_database(database);
    double wrong, sigma;
    expected_wrong(&made, &counted, &wrong, &sigma);
    printf("          of %lu questions about absent keys %lu were let through; expected %.1f, sigma %.1f\n",
           counted.asked, counted.asked - counted.cut, wrong, sigma);
    expect(wrong_keys == 0, "every odd key is absent");
    expect(counted.asked > KEYS * 99 / 100 && counted.asked <= KEYS, "no more than one filter was asked for each");
    expect(fabs((double)(counted.asked - counted.cut) - wrong) < 4 * sigma, "the share let through is within 4 sigma");

    database = open_database(directory, install_counted(&verified, policy_of_seed(10, 1), &counted), SMALL_BLOCK, 0);
    lost = KEYS - found_from(database, 0);
    wrong_keys = found_from(database, 1);
    close_database(database);
    expect(lost == 0 && wrong_keys == 0 && counted.asked == 0, "another seed is another name: LevelDB asks no filter");

    database = open_database(directory, NULL, SMALL_BLOCK, 0);
    expect(found_from(database, 0) == KEYS, "without a policy every key is found");
    close_database(database);

    check_damage(directory);
    printf("%s\n", failures ? "FAILED" : "all of it holds");
}

/* --- table --- */

struct row {
    const char *name;
    const struct callbacks *callbacks;
    double bits;
    char directory[512];
    struct database database;
    double rates[ROUNDS], gains[ROUNDS]; /* gets per second; and times those of no filter in the same round */
    unsigned long asked, cut;
    size_t bytes, filters;
};

static void *state_of(const struct row *row) {
    return row->callbacks == &own ? own_bloom((int)row->bits) : policy_of_seed(row->bits, 0);
}
/* As an application installs it: LevelDB's own without the detour through C, bloomline's without counting. */
static leveldb_filterpolicy_t *plain(const struct row *row) {
    if (!row->callbacks) return NULL;
    return row->callbacks == &own ? leveldb_filterpolicy_create_bloom((int)row->bits)
                                  : install(row->callbacks, state_of(row));
}

/* Makes the database of a row; counts filters, bytes, questions and answers. */
static void make(struct row *row, const char *directory, int number_of_row, size_t block_size) {
    snprintf(row->directory, sizeof row->directory, "%s/%s-%d", directory, scattered ? "scattered" : "sequence",
             number_of_row);
    fill(row->directory, plain(row), block_size);
    if (!row->callbacks) return;
    static struct counted counted;
    struct table tables[64];
    int count = read_tables(row->directory, tables, 64);
    for (int i = 0; i < count; i++) {
        row->bytes += tables[i].offsets;
        for (size_t filter = 0, length; filter < filters_of(&tables[i]); filter++) {
            filter_of(&tables[i], filter, &length);
            row->filters += length > 0;
        }
    }
    free_tables(tables, count);
    leveldb_filterpolicy_t *filters = install_counted(row->callbacks, state_of(row), &counted);
    struct database database = open_database(row->directory, filters, block_size, 0);
    if (found_from(database, 0) != KEYS) stop(row->name, "keys are missing");
    counted.asked = counted.cut = 0;
    if (found_from(database, 1) != 0) stop(row->name, "absent keys are found");
    close_database(database);
    row->asked = counted.asked;
    row->cut = counted.cut;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of a question about an absent key, to filters of 17 keys in the order of memory. */
static double question(const struct callbacks *callbacks) {
    enum { FILTERS = 1000, FEW = 17 };
    static char keys[FEW][KEY_BYTES], *filters[FILTERS];
    const char *pointers[FEW];
    size_t lengths[FEW], length = 0, wrong = 0;
    void *policy = policy_of_seed(10, 0);
    for (uint64_t i = 0; i < FILTERS; i++) {
        for (uint64_t j = 0; j < FEW; j++) {
            make_key(2 * (FEW * i + j), keys[j]);
            pointers[j] = keys[j];
            lengths[j] = KEY_BYTES;
        }
        filters[i] = callbacks->create(policy, pointers, lengths, FEW, &length);
    }
    double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (uint64_t i = 0; i < 200 * FILTERS; i++) {
            make_key(2 * i + 1, keys[0]);
            wrong += callbacks->match(policy, keys[0], KEY_BYTES, filters[i % FILTERS], length);
        }
        times[round] = 1e9 * (now() - start) / (200 * FILTERS);
    }
    for (int i = 0; i < FILTERS; i++) free(filters[i]);
    callbacks->destroy(policy);
    if (wrong > ROUNDS * 200 * FILTERS / 20) stop("question", "too many wrong answers");
    qsort(times, ROUNDS, sizeof *times, by_value);
    return times[ROUNDS / 2];
}

static void table(const char *directory, size_t block_size) {
    enum { NONE, OWN_10, SAME_AS_OWN, OWN_SAME, VERIFIED, UNVERIFIED, ROWS };
    struct row rows[ROWS] = {
        [NONE] = {.name = "no filter"},
        [OWN_10] = {.name = "LevelDB's own", .callbacks = &own, .bits = 10},
        [SAME_AS_OWN] = {.name = "bloomline, bytes of the row above", .callbacks = &verified},
        [OWN_SAME] = {.name = "LevelDB's own, bytes of the row below", .callbacks = &own},
        [VERIFIED] = {.name = "bloomline", .callbacks = &verified, .bits = 10},
        [UNVERIFIED] = {.name = "bloomline, not verifying", .callbacks = &unverified, .bits = 10},
    };
    make(&rows[NONE], directory, NONE, block_size);
    make(&rows[OWN_10], directory, OWN_10, block_size);
    make(&rows[VERIFIED], directory, VERIFIED, block_size);
    make(&rows[UNVERIFIED], directory, UNVERIFIED, block_size);
    /* Bits a key that give as many bytes, what surrounds them counted: bloomline rounds down to bytes and adds 6,
     * LevelDB rounds up, adds 1, and takes whole bits. */
    double keys = (double)KEYS / (double)rows[OWN_10].filters;
    double own_bytes = (double)rows[OWN_10].bytes / (double)rows[OWN_10].filters;
    double bytes = (double)rows[VERIFIED].bytes / (double)rows[VERIFIED].filters;
    rows[SAME_AS_OWN].bits = 8 * (own_bytes - TRAILER_BYTES + 0.5) / keys;
    rows[OWN_SAME].bits = floor(8 * (bytes - 1 - 0.5) / keys + 0.5);
    make(&rows[SAME_AS_OWN], directory, SAME_AS_OWN, block_size);
    make(&rows[OWN_SAME], directory, OWN_SAME, block_size);

    static uint64_t order[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) order[i] = 2 * i + 1;
    for (uint64_t i = KEYS; i-- > 1;) {
        uint64_t j = number() % (i + 1), other = order[i];
        order[i] = order[j];
        order[j] = other;
    }
    for (int i = 0; i < ROWS; i++) rows[i].database = open_database(rows[i].directory, plain(&rows[i]), block_size, 0);
    for (int round = -1; round < ROUNDS; round++) { /* the first warms up */
        for (int turn = 0; turn < ROWS; turn++) { /* each row begins a round as often as the others */
            int i = (turn + round + ROWS) % ROWS;
            double start = now();
            for (uint64_t j = 0; j < KEYS; j++)
                if (get(rows[i].database, order[j])) stop(rows[i].name, "an absent key is found");
            if (round >= 0) rows[i].rates[round] = KEYS / (now() - start);
        }
        for (int i = 0; round >= 0 && i < ROWS; i++)
            rows[i].gains[round] = rows[i].rates[round] / rows[NONE].rates[round];
    }

    printf("\n%s, blocks of %zu bytes, %.1f keys a filter, median of %d rounds of %d absent gets:\n\n",
           scattered ? "Scattered keys" : "Consecutive keys", block_size, keys, ROUNDS, KEYS);
    printf("| filter | bits a key | bytes a filter | probes cut | let through | absent gets/s | of no filter |\n");
    printf("|---|--:|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < ROWS; i++) close_database(rows[i].database);
    for (int i = 0; i < ROWS; i++) {
        struct row *row = &rows[i];
        qsort(row->rates, ROUNDS, sizeof *row->rates, by_value);
        qsort(row->gains, ROUNDS, sizeof *row->gains, by_value);
        if (!row->callbacks) {
            printf("| %s | 0 | 0 | 0 | 100 %% | %.0f | 1 |\n", row->name, row->rates[ROUNDS / 2]);
            continue;
        }
        printf("| %s | %.2f | %.2f | %lu of %lu | %.3f %% | %.0f | %.2f |\n", row->name, row->bits,
               (double)row->bytes / (double)row->filters, row->cut, row->asked,
               100.0 * (double)(row->asked - row->cut) / (double)row->asked, row->rates[ROUNDS / 2],
               row->gains[ROUNDS / 2]);
    }
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 3 && strcmp(argv[1], "check") == 0) {
        check(argv[2]);
    } else if (argc == 4 && strcmp(argv[1], "table") == 0) {
        for (scattered = 0; scattered < 2; scattered++) table(argv[2], strtoul(argv[3], NULL, 10));
        printf("\nA question about an absent key, to a filter of 17 keys: %.0f ns, not verifying %.0f ns.\n",
               question(&verified), question(&unverified));
    } else {
        fprintf(stderr, "proof check DIRECTORY | proof table DIRECTORY BLOCK_SIZE\n");
        return 2;
    }
    return failures != 0;
}
