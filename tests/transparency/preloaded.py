"""Other people's libraries that are preloaded beside ours: allocators, sanitizers' runtimes, interposers."""
import glob

SYSTEM = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]


class Other:
    """`variables` are set with and without the agent; `after_us`: more of them, where it comes after us."""

    def __init__(self, library, variables=None, after_us=None):
        self.library, self.variables, self.after_us = library, variables or {}, after_us or {}

    def path(self, build):
        """None: it is not on this machine."""
        place = self.library.replace("{build}", str(build))
        places = [place] if place.startswith("/") else [f"{folder}/{place}" for folder in SYSTEM]
        return next((path for each in places for path in glob.glob(each)), None)


OTHERS = {
    "jemalloc": Other("libjemalloc.so.2"),
    "tcmalloc": Other("libtcmalloc_minimal.so.4"),
    # Its own check refuses to come second, behind whatever library.
    "asan": Other("libasan.so.[0-9]", {"ASAN_OPTIONS": "detect_leaks=0"},
                  {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}),
    "ubsan": Other("libubsan.so.[0-9]"),
    "tsan": Other("libtsan.so.[0-9]", {"TSAN_OPTIONS": "report_bugs=0:atexit_sleep_ms=0"}),
    "fakeroot": Other("libfakeroot/libfakeroot-sysv.so"),
    "stdbuf": Other("/usr/libexec/coreutils/libstdbuf.so", {"_STDBUF_O": "0"}),
    "interposer": Other("{build}/programs/libinterposer.so"),
}
