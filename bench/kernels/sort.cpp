// A parallel merge sort: the halves are sorted by two threads, down to one thread a part; small
// parts by std::sort.
//
// Templates and iterators, data-dependent branches, memory handed from child to parent by join.
// SIZE is the number of records.
#include "kernel.h"

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

struct Record {
    std::uint64_t key;
    std::uint32_t payload;

    bool operator<(const Record &other) const { return key < other.key; }
};

using Records = std::vector<Record>;

// Merges two sorted neighbours of `from` into the same places of `to`.
void merge(const Records &from, Records &to, std::size_t begin, std::size_t middle, std::size_t end) {
    std::size_t left = begin, right = middle;
    for (std::size_t out = begin; out < end; out++) {
        const bool take_left = right == end || (left < middle && !(from[right] < from[left]));
        to[out] = take_left ? from[left++] : from[right++];
    }
}

// Sorts `records[begin..end]` with `threads` threads; `spare` is as large and may be overwritten there.
void sort(Records &records, Records &spare, std::size_t begin, std::size_t end, unsigned threads) {
    if (threads < 2 || end - begin < 2) {
        std::sort(records.begin() + static_cast<std::ptrdiff_t>(begin),
                  records.begin() + static_cast<std::ptrdiff_t>(end));
        return;
    }
    const unsigned left_threads = threads / 2;
    const std::size_t middle = begin + (end - begin) * left_threads / threads;
    std::thread left([&] { sort(records, spare, begin, middle, left_threads); });
    sort(records, spare, middle, end, threads - left_threads);
    left.join();
    merge(records, spare, begin, middle, end);
    for (std::size_t i = begin; i < end; i++) records[i] = spare[i];
}

}  // namespace

int main(int argc, char **argv) {
    const settings settings = settings_from(argc, argv, 500000);
    Records records(settings.size), spare(settings.size);
    std::uint64_t state = 7, before = 0;
    for (Record &record : records) {
        record.key = random_next(&state);
        record.payload = static_cast<std::uint32_t>(record.key >> 11);
        before += mixed(record.key);
    }

    sort(records, spare, 0, records.size(), settings.threads);

    std::uint64_t checksum = 0, after = 0;
    for (std::size_t i = 0; i < records.size(); i++) {
        if (i > 0 && records[i] < records[i - 1]) {
            std::fprintf(stderr, "not sorted at %zu\n", i);
            return 1;
        }
        after += mixed(records[i].key);
        checksum = mixed(checksum + records[i].key + records[i].payload);
    }
    if (before != after) {
        std::fprintf(stderr, "records were lost\n");
        return 1;
    }
    print_checksum("sort", settings, checksum);
    return 0;
}
