// To delete an object is to write to all of it: who reads it meanwhile races with the delete.
#include <thread>
#include "../order.h"

struct Node {
    long key, value;
};

int main() {
    Node *node = new Node{1, 2};
    std::thread thread([node] {
        dh_use(node->value);
        dh_done(1);
    });
    dh_step(1);
    thread.join();
    delete node;
}
