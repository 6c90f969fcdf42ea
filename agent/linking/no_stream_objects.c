/* yaml-cpp's files include <iostream>, and each would have libstdc++ set up std::cout and its seven
   siblings when the library is loaded, and flush them at the end: a fifth of what the agent costs a
   program like /bin/true. Nothing here uses them, which process.exports checks; other streams set
   up what they need themselves. The linker leads std::ios_base::Init's constructor and destructor
   here (--wrap, in ../CMakeLists.txt). */

__attribute__((visibility("hidden"))) void __wrap__ZNSt8ios_base4InitC1Ev(void* init) {
  (void)init;
}
__attribute__((visibility("hidden"))) void __wrap__ZNSt8ios_base4InitD1Ev(void* init) {
  (void)init;
}
