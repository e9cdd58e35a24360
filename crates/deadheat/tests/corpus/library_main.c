// Behind the rows of `spec/library.txt`: `library apart|behind [ROW…]`.

static char **words;

// Those of what the library has once for all run by themselves.
static int is_meant(const struct row *row) {
    for (char **word = words + 2; *word; word++)
        if (strcmp(*word, row->name) == 0)
            return 1;
    return !words[2] && !row->alone;
}

static void *one(void *nothing) {
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++)
        if (is_meant(&rows[at]))
            rows[at].one();
    return nothing;
}

static void *other(void *nothing) {
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++)
        if (is_meant(&rows[at]))
            rows[at].other();
    return nothing;
}

int main(int count, char **all) {
    (void)count;
    words = all;
    int apart = strcmp(words[1], "apart") == 0;
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    if (!apart)
        pthread_join(a, 0);
    pthread_create(&b, 0, other, 0);
    if (apart)
        pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
