/* Static libstdc++ takes arc4random() for std::random_device, which nothing of ours uses. It came
   with glibc 2.36: the library must load on machines with an older one. */
#include <stdint.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits) return 4; /* no randomness is promised */
  return bits;
}
