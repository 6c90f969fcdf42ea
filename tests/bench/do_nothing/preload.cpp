// The least that can be preloaded.
extern "C" __attribute__((visibility("default"))) int traceagent_do_nothing() { return 0; }
