/* bloomline for C: Bloom filters for the segments of a store.
 *
 * Questions are answered true ("may contain") when in doubt: null pointers with a length, damaged bytes. All other
 * functions fail with NULL, false or 0, and bloomline_last_error says why. A null pointer with length 0 is the empty
 * string; freeing null does nothing. Policies and filters may be used by any number of threads at once, builders by
 * one at a time. No function unwinds or calls back. */

#ifndef BLOOMLINE_H
#define BLOOMLINE_H

/* Made from src/ by cbindgen; tests/header.rs compares, and writes it with BLOOMLINE_WRITE_HEADER=1. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The frame with a header of 64 bytes that says layout, sizes, hasher and seed: for files and large filters.
 */
#define BLOOMLINE_FULL 0

/**
 * The frame with a short trailer, 6 bytes or 3, for filters of few keys. Filters that would have under 64 bytes are of layout
 * "classic", of any whole number of bytes.
 */
#define BLOOMLINE_COMPACT 1

/**
 * Takes the keys of a segment, and makes its filter when their number is known. It holds 8 bytes for each key.
 */
typedef struct bloomline_builder bloomline_builder;

/**
 * A filter whose frame was read once, for many questions.
 */
typedef struct bloomline_filter bloomline_filter;

/**
 * What all filters of a store have in common: layout, bits for each key, seed and frame.
 */
typedef struct bloomline_policy bloomline_policy;

/**
 * What a filter of so many keys will be.
 */
typedef struct bloomline_plan {
    /**
     * Bytes that it takes, frame included.
     */
    uint64_t bytes;
    /**
     * Its bits m.
     */
    uint64_t bits;
    /**
     * Its probes k: bits tested for each key.
     */
    uint32_t probes;
    /**
     * Its expected false positive rate.
     */
    double fpr;
} bloomline_plan;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of this library, as "0.1.0". Never freed.
 */
const char *bloomline_version(void);

/**
 * A policy: `layout` is "classic", "partitioned", "blocked", "split-line", "split-block" or "word"; at most
 * `bits_per_key` bits for each key, the frame not counted; keys are hashed by XXH3 with `seed`; `frame` is
 * `BLOOMLINE_FULL` or `BLOOMLINE_COMPACT`. `NULL` when one of them is out of range. Freed by `bloomline_policy_free`.
 *
 * # Safety
 * `layout` is null or a C string.
 */
struct bloomline_policy *bloomline_policy_create(const char *layout, double bits_per_key, uint64_t seed, int frame);

/**
 * Frees a policy; null does nothing. Builders and filters made by it live on.
 *
 * # Safety
 * `policy` is null or came from `bloomline_policy_create`, and is used no more.
 */
void bloomline_policy_free(struct bloomline_policy *policy);

/**
 * The policy's name: layout, hasher, seed, and the frame with its version. Filters of one policy can be read by every
 * policy of the same name, and by no other. It lives as long as the policy. `NULL` when `policy` is null.
 *
 * # Safety
 * `policy` is null or a live policy.
 */
const char *bloomline_policy_name(const struct bloomline_policy *policy);

/**
 * What a filter of `keys` keys will be, into `plan`. `false` when there is no such size, and `plan` is as it was.
 *
 * # Safety
 * `policy` is null or a live policy; `plan` is null or can be written.
 */
bool bloomline_policy_plan(const struct bloomline_policy *policy, uint64_t keys, struct bloomline_plan *plan);

/**
 * May `key` be in the filter of these bytes? `false` is certain, unless a bit of the filter was cleared after it was
 * made: `bloomline_policy_verify` finds that. Takes the same time whatever the size of the filter, and copies nothing.
 * `true` for bytes that are no filter of the policy's frame, and for null pointers that have a length.
 *
 * # Safety
 * `policy` is null or a live policy; `filter` and `key` are null or can be read for their lengths.
 */
bool bloomline_policy_may_contain(const struct bloomline_policy *policy,
                                  const void *filter,
                                  size_t filter_length,
                                  const void *key,
                                  size_t key_length);

/**
 * Are these bytes a whole, unchanged filter of this policy? Reads them all: a checksum of 64 bits in the full frame,
 * of 24 in the compact one. `false` when not, and `bloomline_last_error` says why. Call it once when a filter is
 * loaded, unless a checksum of the engine covers its bytes.
 *
 * # Safety
 * `policy` is null or a live policy; `filter` is null or can be read for its length.
 */
bool bloomline_policy_verify(const struct bloomline_policy *policy, const void *filter, size_t filter_length);

/**
 * A builder without keys. `NULL` when `policy` is null. Freed by `bloomline_builder_free`; the policy may be freed
 * before.
 *
 * # Safety
 * `policy` is null or a live policy.
 */
struct bloomline_builder *bloomline_builder_create(const struct bloomline_policy *policy);

/**
 * Frees a builder; null does nothing.
 *
 * # Safety
 * `builder` is null or came from `bloomline_builder_create`, and is used no more.
 */
void bloomline_builder_free(struct bloomline_builder *builder);

/**
 * Takes a key. One that equals the key before is not counted again. `false` when the builder is null, or the key is
 * null and has a length: no key was taken.
 *
 * # Safety
 * `builder` is null or a live builder that no other thread uses; `key` is null or can be read for its length.
 */
bool bloomline_builder_add(struct bloomline_builder *builder, const void *key, size_t key_length);

/**
 * Takes `count` keys: `keys[i]` of `key_lengths[i]` bytes. `false` when a pointer is null that should not be; the keys
 * before it were taken.
 *
 * # Safety
 * `builder` is null or a live builder that no other thread uses; `keys` and `key_lengths` are null or can be read for
 * `count` items; each key is null or can be read for its length.
 */
bool bloomline_builder_add_many(struct bloomline_builder *builder,
                                const void *const *keys,
                                const size_t *key_lengths,
                                size_t count);

/**
 * Forgets the keys and keeps their memory, for the next filter. Null does nothing.
 *
 * # Safety
 * `builder` is null or a live builder that no other thread uses.
 */
void bloomline_builder_clear(struct bloomline_builder *builder);

/**
 * Bytes that the filter of the keys so far takes, frame included: what a buffer for `bloomline_builder_finish_into`
 * needs. 0 when the builder is null or there is no such size; no filter takes 0 bytes.
 *
 * # Safety
 * `builder` is null or a live builder that no other thread changes.
 */
uint64_t bloomline_builder_bytes(const struct bloomline_builder *builder);

/**
 * The filter of the keys so far, in memory that is freed by `free` (or `bloomline_free`), and its length. The builder
 * keeps its keys. Without keys the filter is the smallest there is, and contains nothing. `NULL` when a pointer is
 * null, or the filter would be over half of the machine's memory, or there is no memory; the length is then 0.
 *
 * # Safety
 * `builder` is null or a live builder that no other thread changes; `filter_length` is null or can be written.
 */
void *bloomline_builder_finish(const struct bloomline_builder *builder, size_t *filter_length);

/**
 * The same into the caller's buffer of `capacity` bytes. Sets `filter_length` to the bytes that the filter takes, also
 * when the buffer is too small for them: then nothing is built, and the answer is `false`.
 *
 * # Safety
 * As `bloomline_builder_finish`, and `buffer` is null or can be written for `capacity` bytes.
 */
bool bloomline_builder_finish_into(const struct bloomline_builder *builder,
                                   void *buffer,
                                   size_t capacity,
                                   size_t *filter_length);

/**
 * Frees what `bloomline_builder_finish` gave, for programs whose `free` is that of another C library. Null does
 * nothing.
 *
 * # Safety
 * `memory` is null or came from `bloomline_builder_finish`, and is used no more.
 */
void bloomline_free(void *memory);

/**
 * Opens a filter over a copy of its bytes. Constant time but for the copy; `bloomline_policy_verify` finds changed
 * bits. `NULL` when the bytes are no filter of the policy's frame, hasher and seed, or a pointer is null, or there is
 * no memory. Freed by `bloomline_filter_free`.
 *
 * # Safety
 * `policy` is null or a live policy; `filter` is null or can be read for its length.
 */
struct bloomline_filter *bloomline_filter_open_copy(const struct bloomline_policy *policy,
                                                    const void *filter,
                                                    size_t filter_length);

/**
 * Opens a filter over its bytes where they lie, without copying, at any alignment. They must stay where they are,
 * unchanged, until `bloomline_filter_free`: the pages of a mapping, a block pinned in a cache. Otherwise as
 * `bloomline_filter_open_copy`.
 *
 * # Safety
 * `policy` is null or a live policy; `filter` is null or can be read for its length until the filter is freed, and
 * nobody writes there before.
 */
struct bloomline_filter *bloomline_filter_open_borrowed(const struct bloomline_policy *policy,
                                                        const void *filter,
                                                        size_t filter_length);

/**
 * Frees a filter; null does nothing. Borrowed bytes are left alone.
 *
 * # Safety
 * `filter` is null or came from an open function, and is used no more.
 */
void bloomline_filter_free(struct bloomline_filter *filter);

/**
 * May `key` be in the filter? As `bloomline_policy_may_contain`.
 *
 * # Safety
 * `filter` is null or a live filter; `key` is null or can be read for its length.
 */
bool bloomline_filter_may_contain(const struct bloomline_filter *filter, const void *key, size_t key_length);

/**
 * May `count` keys be in the filter? Bit i % 64 of `out[i / 64]` answers for `keys[i]`; `out` has count / 64 words,
 * rounded up. Large filters answer several times faster than key by key. Bits behind the last key are 0. `false` when
 * a pointer is null that should not be: then the keys from there on, in steps of 512, are answered "may contain".
 *
 * # Safety
 * `filter` is null or a live filter; `keys` and `key_lengths` are null or can be read for `count` items; each key is
 * null or can be read for its length; `out` is null or can be written for its words.
 */
bool bloomline_filter_contains_batch(const struct bloomline_filter *filter,
                                     const void *const *keys,
                                     const size_t *key_lengths,
                                     size_t count,
                                     uint64_t *out);

/**
 * `destructor` for `leveldb_filterpolicy_create`: frees the policy.
 *
 * # Safety
 * As `bloomline_policy_free`.
 */
void bloomline_leveldb_policy_destroy(void *state);

/**
 * `create_filter` for `leveldb_filterpolicy_create`: the filter of these keys, in memory of `malloc`, which LevelDB
 * frees. When it can't be made the answer is `NULL` and the length 0: LevelDB then stores an empty filter, about which
 * `bloomline_leveldb_policy_key_may_match` says "maybe".
 *
 * # Safety
 * `state` is null or a live policy; the arrays are null or can be read for `num_keys` items; each key is null or can
 * be read for its length; `filter_length` is null or can be written.
 */
char *bloomline_leveldb_policy_create_filter(void *state,
                                             const char *const *key_array,
                                             const size_t *key_length_array,
                                             int num_keys,
                                             size_t *filter_length);

/**
 * `key_may_match` for `leveldb_filterpolicy_create`: 0 when the key is certainly not in the filter. Verifies the
 * filter each time, which LevelDB by itself does not: of some 17 keys it has 27 bytes. "Maybe" when they changed.
 *
 * # Safety
 * `state` is null or a live policy; `key` and `filter` are null or can be read for their lengths.
 */
uint8_t bloomline_leveldb_policy_key_may_match(void *state,
                                               const char *key,
                                               size_t length,
                                               const char *filter,
                                               size_t filter_length);

/**
 * `name` for `leveldb_filterpolicy_create`: `bloomline_policy_name`. LevelDB stores it beside the filters, and asks no
 * filter that was stored under another.
 *
 * # Safety
 * As `bloomline_policy_name`.
 */
const char *bloomline_leveldb_policy_name(void *state);

/**
 * Why the last refused call on this thread was refused: one line, or "" when none was. A call that succeeds leaves it.
 * The text is the library's, and is there until the next refused call on this thread.
 */
const char *bloomline_last_error(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BLOOMLINE_H */
