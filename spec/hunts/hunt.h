// What keeps the accesses of the programs in this folder through optimisation.
//
// Nothing in here orders anything: no instruction comes of it.
#ifndef DEADHEAT_HUNT_H
#define DEADHEAT_HUNT_H

// Needs a value: the load that gets it stays, and stays in its place.
#define USE(value) __asm__ volatile("" : : "r"(value) : "memory")

// Keeps what is before it from melting together with what is behind it.
#define APART() __asm__ volatile("" : : : "memory")

// A function that stays a function, with a place of its own on the call stack.
#define WHOLE __attribute__((noinline))

#endif
