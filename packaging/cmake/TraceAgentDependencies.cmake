find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
