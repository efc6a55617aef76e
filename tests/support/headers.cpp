// Has headers precompiled for the tests (tests/CMakeLists.txt).
int main() {}
