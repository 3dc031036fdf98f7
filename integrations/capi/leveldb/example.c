/* LevelDB with bloomline's filters: example DIRECTORY */
#include <bloomline.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    /* README: from here */
    bloomline_policy *policy = bloomline_policy_create("split-block", 10, 0, BLOOMLINE_COMPACT);
    leveldb_filterpolicy_t *filters = leveldb_filterpolicy_create(
        policy, bloomline_leveldb_policy_destroy, bloomline_leveldb_policy_create_filter,
        bloomline_leveldb_policy_key_may_match, bloomline_leveldb_policy_name);
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_filter_policy(options, filters);
    leveldb_options_set_paranoid_checks(options, 1); /* LevelDB then checks its checksum over the filters */
    leveldb_options_set_create_if_missing(options, 1);
    char *error = NULL;
    leveldb_t *db = leveldb_open(options, argc > 1 ? argv[1] : "example.db", &error);
    /* README: to here */
    if (error) {
        fprintf(stderr, "example: %s\n", error);
        return 1;
    }
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    leveldb_put(db, writing, "key", 3, "value", 5, &error);
    leveldb_compact_range(db, NULL, 0, NULL, 0); /* out of memory, into a table with filters */
    leveldb_readoptions_t *reading = leveldb_readoptions_create();
    size_t length;
    char *value = leveldb_get(db, reading, "key", 3, &length, &error);
    char *nothing = leveldb_get(db, reading, "kez", 3, &length, &error);
    printf("%s: key %s, kez %s\n", bloomline_policy_name(policy), value ? "is there" : "is missing",
           nothing ? "is there" : "is not");
    int right = !error && value && !nothing;
    leveldb_free(value);
    leveldb_free(nothing);
    leveldb_readoptions_destroy(reading);
    leveldb_writeoptions_destroy(writing);
    leveldb_close(db);
    leveldb_options_destroy(options);
    leveldb_filterpolicy_destroy(filters); /* frees the policy too */
    return right ? 0 : 1;
}
