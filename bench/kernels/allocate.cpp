// Allocation-heavy: threads build trees and words, and throw them away again.
//
// Nearly every access touches memory that was handed out a moment ago and will be somebody else's a
// moment later. SIZE is the number of rounds of all threads together.
#include "kernel.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned TREE_DEPTH = 7;
constexpr unsigned WORDS = 60;

struct Node {
    std::unique_ptr<Node> left, right;
    std::uint64_t value;
};

std::unique_ptr<Node> grow(unsigned depth, std::uint64_t &state) {
    auto node = std::make_unique<Node>();
    node->value = random_next(&state);
    if (depth > 0) {
        node->left = grow(depth - 1, state);
        node->right = grow(depth - 1, state);
    }
    return node;
}

std::uint64_t total(const Node &node) {
    std::uint64_t sum = node.value;
    if (node.left) sum += 3 * total(*node.left);
    if (node.right) sum += 5 * total(*node.right);
    return sum;
}

// Counts words in a map of strings; the words are long enough to live on the heap.
std::uint64_t count_words(std::uint64_t &state) {
    std::map<std::string, unsigned> counts;
    for (unsigned i = 0; i < WORDS; i++) {
        const std::string number = std::to_string(random_next(&state) % 40);
        const std::string word = "a word too long to be kept inside " + number;
        counts[word]++;
    }
    std::uint64_t sum = 0;
    for (const auto &[word, count] : counts) {
        sum = sum * 31 + word.size() * count + static_cast<unsigned char>(word.back());
    }
    return sum;
}

std::uint64_t round(std::uint64_t number) {
    std::uint64_t state = mixed(number);
    const auto tree = grow(TREE_DEPTH, state);
    std::vector<std::unique_ptr<std::uint64_t[]>> buffers;
    for (std::size_t words = 8; words <= 256; words *= 2) {
        buffers.push_back(std::make_unique<std::uint64_t[]>(words));
        for (std::size_t i = 0; i < words; i++) buffers.back()[i] = number + i;
    }
    return total(*tree) + count_words(state) + buffers.back()[number % 256];
}

}  // namespace

int main(int argc, char **argv) {
    const settings settings = settings_from(argc, argv, 3000);
    std::vector<std::uint64_t> sums(settings.threads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < settings.threads; i++) {
        threads.emplace_back([&settings, &sums, i] {
            std::uint64_t sum = 0;
            for (std::size_t at = i; at < settings.size; at += settings.threads) sum += round(at);
            sums[i] = sum;
        });
    }
    for (std::thread &thread : threads) thread.join();

    std::uint64_t checksum = 0;
    for (const std::uint64_t sum : sums) checksum += sum;
    print_checksum("allocate", settings, checksum);
    return 0;
}
