// A plug-in of one function.
void set(int *target) {
    *target = 1; //~ race 1: write in set < worker
}
