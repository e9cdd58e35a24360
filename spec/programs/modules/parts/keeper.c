// A plug-in with a variable of its own.
int kept;

void keep(void) {
    kept = 1;
}
