#ifndef OWN_BLOOM_H
#define OWN_BLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The state for the callbacks below. */
void *own_bloom(int bits_per_key);
void own_bloom_destroy(void *state);
char *own_bloom_create_filter(void *state, const char *const *keys, const size_t *lengths, int count, size_t *length);
uint8_t own_bloom_key_may_match(void *state, const char *key, size_t length, const char *filter, size_t filter_length);
const char *own_bloom_name(void *state);

#ifdef __cplusplus
}
#endif
#endif
