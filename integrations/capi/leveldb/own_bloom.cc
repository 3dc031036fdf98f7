// LevelDB's own Bloom filter behind the callbacks of its C interface, so that what it is asked and answers can be
// counted.
#include "own_bloom.h"

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {
const leveldb::FilterPolicy *policy_of(void *state) { return static_cast<const leveldb::FilterPolicy *>(state); }
}  // namespace

void *own_bloom(int bits_per_key) {
    return const_cast<leveldb::FilterPolicy *>(leveldb::NewBloomFilterPolicy(bits_per_key));
}

void own_bloom_destroy(void *state) { delete policy_of(state); }

char *own_bloom_create_filter(void *state, const char *const *keys, const size_t *lengths, int count, size_t *length) {
    std::vector<leveldb::Slice> slices;
    for (int i = 0; i < count; i++) slices.emplace_back(keys[i], lengths[i]);
    std::string filter;
    policy_of(state)->CreateFilter(slices.data(), count, &filter);
    char *copy = static_cast<char *>(std::malloc(filter.size()));
    std::memcpy(copy, filter.data(), filter.size());
    *length = filter.size();
    return copy;
}

uint8_t own_bloom_key_may_match(void *state, const char *key, size_t length, const char *filter, size_t filter_length) {
    return policy_of(state)->KeyMayMatch(leveldb::Slice(key, length), leveldb::Slice(filter, filter_length));
}

const char *own_bloom_name(void *state) { return policy_of(state)->Name(); }
