// A store that counts its entries and protects nothing.
#ifndef STORE_H
#define STORE_H
#ifdef __cplusplus
extern "C" {
#endif
void store_put(int key);
int store_size(void);
#ifdef __cplusplus
}
#endif
#endif
