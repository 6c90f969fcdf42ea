#pragma once
// A library whose file name says libcudart, as it does of every one that the agent knows.

extern "C" {
/// Calls `function` with `kernel`, and returns what it does: not by a jump.
int call_from_cudart(int (*function)(const void*), const void* kernel);
/// 4096 bytes that lie in it.
const char* places_in_cudart();
}
