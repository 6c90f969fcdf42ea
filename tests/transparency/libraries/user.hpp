#pragma once
// What the extensions of cudart_of_an_extension.cpp and copies_of_a_library.cpp have in common.

extern "C" [[gnu::visibility("default")]] int call_library(int times);
