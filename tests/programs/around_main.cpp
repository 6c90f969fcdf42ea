// A program that is linked to calls_around.
extern "C" void calls_around();

int main() {
  calls_around();
  return 3;
}
