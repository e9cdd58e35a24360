// To delete an object is to write to all of it: who reads it meanwhile races with the delete.
#include <thread>
#include "../order.h"

struct Node {
    long key, value;
};

int main() {
    Node *node = new Node{1, 2};
    std::thread thread([node] {
        dh_use(node->value); //~ race 1: read
        dh_done(1);
    });
    dh_step(1);
    delete node; //~ race 1: free
    thread.join();
}
