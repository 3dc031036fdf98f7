/* The C interface as a C program uses and misuses it; built with the sanitizers of the C compiler where it has them. */
#include <bloomline.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define EXPECT(holds) ((holds) ? (void)0 : (void)(failures++, fprintf(stderr, "api.c:%d: %s\n", __LINE__, #holds)))

static int refused_with(const char *part) { return strstr(bloomline_last_error(), part) != NULL; }

enum { KEYS = 5000 };
static char text[2 * KEYS][8];
static const void *keys[2 * KEYS];
static size_t lengths[2 * KEYS];

static void policies(void) {
    EXPECT(strcmp(bloomline_last_error(), "") == 0);
    EXPECT(strcmp(bloomline_version(), "0.1.0") == 0);
    EXPECT(!bloomline_policy_create(NULL, 10, 0, BLOOMLINE_FULL) && refused_with("the layout's name is null"));
    EXPECT(!bloomline_policy_create("cubic", 10, 0, BLOOMLINE_FULL) && refused_with("\"cubic\"; there are: classic "));
    EXPECT(!bloomline_policy_create("\xff", 10, 0, BLOOMLINE_FULL));
    EXPECT(!bloomline_policy_create("word", 10, 0, 2) && refused_with("frame 2"));
    const double none[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        EXPECT(!bloomline_policy_create("word", none[i], 0, BLOOMLINE_FULL) && refused_with("bits per key"));
        EXPECT(!bloomline_policy_create("word", none[i], 0, BLOOMLINE_COMPACT) && refused_with("bits per key"));
    }
    bloomline_policy *policy = bloomline_policy_create("word", 12, 255, BLOOMLINE_FULL);
    EXPECT(policy && strcmp(bloomline_policy_name(policy), "bloomline.word.xxh3.00000000000000ff.full-v1") == 0);
    bloomline_plan plan;
    EXPECT(bloomline_policy_plan(policy, 1000, &plan) && plan.bytes == 64 + plan.bits / 8 && plan.bits <= 12000);
    EXPECT(plan.probes > 0 && plan.fpr > 0 && plan.fpr < 1);
    EXPECT(!bloomline_policy_plan(policy, UINT64_MAX, &plan) && !bloomline_policy_plan(policy, 1, NULL));
    EXPECT(!bloomline_policy_plan(NULL, 1, &plan) && refused_with("the policy is null"));
    EXPECT(!bloomline_policy_name(NULL) && !bloomline_builder_create(NULL));
    bloomline_policy_free(policy);
    bloomline_policy_free(NULL);
}

static void builders_and_filters(const char *layout, int frame, size_t count) {
    bloomline_policy *policy = bloomline_policy_create(layout, 12, 3, frame);
    bloomline_policy *other = bloomline_policy_create(layout, 12, 4, frame);
    bloomline_builder *builder = bloomline_builder_create(policy);
    EXPECT(policy && other && builder);

    /* One by one and together are the same filter, in the library's memory and in the program's. */
    for (size_t i = 0; i < count; i++) EXPECT(bloomline_builder_add(builder, keys[i], lengths[i]));
    size_t length = 0, again = 0;
    unsigned char *filter = bloomline_builder_finish(builder, &length);
    EXPECT(filter && length > 0 && length == bloomline_builder_bytes(builder));
    bloomline_builder_clear(builder);
    EXPECT(bloomline_builder_add_many(builder, keys, lengths, count));
    unsigned char *buffer = malloc(length + 1); /* off by one: no alignment is asked for */
    EXPECT(!bloomline_builder_finish_into(builder, buffer + 1, length - 1, &again) && again == length);
    EXPECT(refused_with("the buffer has"));
    EXPECT(bloomline_builder_finish_into(builder, buffer + 1, length, &again) && again == length);
    EXPECT(memcmp(filter, buffer + 1, length) == 0);
    EXPECT(!bloomline_builder_finish_into(builder, NULL, length, &again));
    EXPECT(!bloomline_builder_finish_into(builder, buffer, length, NULL) && !bloomline_builder_finish(builder, NULL));
    EXPECT(!bloomline_builder_add(builder, NULL, 1) && refused_with("the key is null and its length is 1"));
    EXPECT(!bloomline_builder_add(builder, "", SIZE_MAX) && refused_with("at most"));
    EXPECT(!bloomline_builder_add_many(builder, NULL, lengths, 1));
    EXPECT(!bloomline_builder_add_many(builder, keys, NULL, 1));
    EXPECT(!bloomline_builder_add_many(builder, keys, lengths, SIZE_MAX / 2));
    EXPECT(bloomline_builder_add_many(builder, NULL, NULL, 0));

    /* Every way to ask gives the same answers, and members are found. */
    EXPECT(bloomline_policy_verify(policy, filter, length));
    bloomline_filter *copied = bloomline_filter_open_copy(policy, filter, length);
    bloomline_filter *borrowed = bloomline_filter_open_borrowed(policy, buffer + 1, length);
    EXPECT(copied && borrowed);
    bloomline_policy_free(policy); /* filters and builders live on */
    policy = bloomline_policy_create(layout, 12, 3, frame);
    const size_t asked = 2 * count, words = (asked + 63) / 64;
    uint64_t *answers = malloc((words + 1) * sizeof *answers);
    answers[words] = 77;
    EXPECT(bloomline_filter_contains_batch(copied, keys, lengths, asked, answers) && answers[words] == 77);
    size_t wrong = 0;
    for (size_t i = 0; i < asked; i++) {
        bool answer = answers[i / 64] >> i % 64 & 1;
        EXPECT(answer == bloomline_filter_may_contain(copied, keys[i], lengths[i]));
        EXPECT(answer == bloomline_filter_may_contain(borrowed, keys[i], lengths[i]));
        EXPECT(answer == bloomline_policy_may_contain(policy, filter, length, keys[i], lengths[i]));
        if (i < count) EXPECT(answer);
        else wrong += answer;
    }
    EXPECT(wrong * 10 <= count + 20);
    if (asked % 64) EXPECT(answers[words - 1] >> asked % 64 == 0);

    /* Doubt is "may contain". */
    EXPECT(bloomline_policy_may_contain(NULL, filter, length, "x", 1) && bloomline_filter_may_contain(NULL, "x", 1));
    EXPECT(bloomline_policy_may_contain(policy, NULL, length, "x", 1));
    EXPECT(bloomline_policy_may_contain(policy, NULL, 0, "x", 1));
    EXPECT(bloomline_policy_may_contain(policy, filter, length, NULL, 1));
    EXPECT(bloomline_filter_may_contain(copied, NULL, 1));
    EXPECT(bloomline_policy_may_contain(policy, filter, length - 1, "x", 1));
    EXPECT(bloomline_filter_may_contain(copied, NULL, 0) == bloomline_filter_may_contain(copied, "", 0));
    const void *hole = keys[count - 1];
    keys[count - 1] = NULL;
    EXPECT(!bloomline_filter_contains_batch(copied, keys, lengths, asked, answers) && answers[words] == 77);
    for (size_t i = 0; i < count; i++) EXPECT(answers[i / 64] >> i % 64 & 1);
    if (asked % 64) EXPECT(answers[words - 1] >> asked % 64 == 0);
    keys[count - 1] = hole;
    EXPECT(!bloomline_filter_contains_batch(NULL, keys, lengths, asked, answers) && answers[0] & 1);
    EXPECT(!bloomline_filter_contains_batch(copied, keys, lengths, 1, NULL));
    EXPECT(bloomline_filter_contains_batch(copied, NULL, NULL, 0, NULL));

    /* A flipped bit of the filter is seen by verifying, one of the frame by all. */
    buffer[1 + (frame == BLOOMLINE_FULL ? 64 : 0)] ^= 1;
    EXPECT(!bloomline_policy_verify(policy, buffer + 1, length) && refused_with("checksum"));
    EXPECT(!bloomline_policy_verify(policy, NULL, length) && !bloomline_policy_verify(NULL, filter, length));
    filter[frame == BLOOMLINE_FULL ? 20 : length - 1] ^= 1;
    EXPECT(!bloomline_filter_open_copy(policy, filter, length));
    EXPECT(!bloomline_filter_open_borrowed(policy, filter, length));
    EXPECT(bloomline_policy_may_contain(policy, filter, length, keys[asked - 1], lengths[asked - 1]));
    filter[frame == BLOOMLINE_FULL ? 20 : length - 1] ^= 1;
    EXPECT(!bloomline_filter_open_copy(policy, NULL, length) && !bloomline_filter_open_copy(NULL, filter, length));
    if (frame == BLOOMLINE_FULL) { /* only the full frame says which seed it was built with */
        EXPECT(!bloomline_policy_verify(other, filter, length) && !bloomline_filter_open_copy(other, filter, length));
        EXPECT(bloomline_policy_may_contain(other, filter, length, "x", 1));
    }

    /* LevelDB's callbacks: the same filter, and it is verified. */
    size_t made = 1;
    const char *const *leveldb_keys = (const char *const *)keys;
    char *leveldb = bloomline_leveldb_policy_create_filter(policy, leveldb_keys, lengths, (int)count, &made);
    EXPECT(leveldb && made == length && memcmp(leveldb, filter, length) == 0);
    EXPECT(strcmp(bloomline_leveldb_policy_name(policy), bloomline_policy_name(policy)) == 0);
    for (size_t i = 0; i < count; i++) {
        EXPECT(bloomline_leveldb_policy_key_may_match(policy, keys[i], lengths[i], leveldb, made) == 1);
        EXPECT(bloomline_leveldb_policy_key_may_match(policy, keys[i], lengths[i], (char *)buffer + 1, made) == 1);
    }
    size_t cut = 0, cut_damaged = 0;
    for (size_t i = count; i < asked; i++) {
        cut += !bloomline_leveldb_policy_key_may_match(policy, keys[i], lengths[i], leveldb, made);
        cut_damaged += !bloomline_leveldb_policy_key_may_match(policy, keys[i], lengths[i], (char *)buffer + 1, made);
    }
    EXPECT(cut == count - wrong && cut_damaged == 0);
    EXPECT(!bloomline_leveldb_policy_create_filter(policy, leveldb_keys, lengths, -1, &made) && made == 0);
    EXPECT(!bloomline_leveldb_policy_create_filter(NULL, leveldb_keys, lengths, 1, &made));
    EXPECT(bloomline_leveldb_policy_key_may_match(policy, "x", 1, "", 0) == 1);
    EXPECT(bloomline_leveldb_policy_key_may_match(NULL, "x", 1, leveldb, length) == 1);
    free(leveldb);

    bloomline_builder_clear(builder);
    void *nothing = bloomline_builder_finish(builder, &length);
    EXPECT(nothing && !bloomline_policy_may_contain(policy, nothing, length, "x", 1));
    bloomline_free(nothing);
    bloomline_free(NULL);

    free(answers);
    free(filter);
    bloomline_filter_free(borrowed);
    free(buffer);
    bloomline_filter_free(copied);
    bloomline_filter_free(NULL);
    bloomline_builder_free(builder);
    bloomline_builder_free(NULL);
    bloomline_builder_clear(NULL);
    EXPECT(bloomline_builder_bytes(NULL) == 0 && !bloomline_builder_finish(NULL, &length) && length == 0);
    bloomline_policy_free(other);
    bloomline_leveldb_policy_destroy(policy);
}

int main(void) {
    for (size_t i = 0; i < 2 * KEYS; i++) {
        lengths[i] = (size_t)snprintf(text[i], sizeof text[i], "%zu", i);
        keys[i] = text[i];
    }
    policies();
    const char *const layouts[] = {"classic", "partitioned", "blocked", "split-line", "split-block", "word"};
    const size_t counts[] = {1, 17, 32, 700, KEYS};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
            for (int frame = BLOOMLINE_FULL; frame <= BLOOMLINE_COMPACT; frame++)
                builders_and_filters(layouts[i], frame, counts[j]);
    return failures != 0;
}
