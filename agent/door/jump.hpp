#pragma once
// How a wrapper goes on to the real function by a jump, its caller's arguments where they are.
//
// A wrapper that jumps is compiled as a function of six words: what the calling convention passes
// in registers, whatever their types. What the real function takes on the stack stays there, and
// nobody looks at it. Given the function's own type, g++ 12 saves registers, loads what is on the
// stack and stores it back: 13 instructions of an idle cuLaunchKernel's 20.
//
// The jump is the compiler's own ("sibling call"); a call in its place would lose what is on the
// stack. So only optimized builds do it (CMakeLists.txt), and tests/process/calls_test.py looks at
// every argument that arrives. In other builds wrappers have their own types, and launches that
// step detection follows go the long way.

#include <cstdint>
#include <type_traits>

namespace traceagent::door {

using Word = std::uint64_t;

inline constexpr bool wrappers_jump =
#ifdef TRACEAGENT_WRAPPERS_JUMP
    true;
#else
    false;
#endif

// What is known of a wrapper's call by the type of the function that describes it from the
// arguments.
template <class Describe>
struct Described;
template <class Type>
struct Described<Type()> {
  using Call = Type;
  static constexpr Word launched(Word, Word) noexcept { return 0; }
};
template <class Type, class First, class... Others>
struct Described<Type(First, Others...)> {
  using Call = Type;
  // The kernel or graph of a launch, of the first two words: the first, or the second where the
  // first is the address of a structure that says how to launch.
  static constexpr Word launched(Word first, Word second) noexcept {
    using Pointed = std::remove_pointer_t<First>;
    return std::is_class_v<Pointed> && std::is_const_v<Pointed> ? second : first;
  }
};

// A function as one of another type, which takes the same words.
template <class To, class From>
[[gnu::always_inline]] inline To taken_as(From* function) noexcept {
  return reinterpret_cast<To>(reinterpret_cast<void (*)()>(function));
}

}  // namespace traceagent::door

#ifdef TRACEAGENT_WRAPPERS_JUMP
#define JUMP_PARAMETERS(typed)                                                                  \
  (traceagent::door::Word word_1, traceagent::door::Word word_2, traceagent::door::Word word_3, \
   traceagent::door::Word word_4, traceagent::door::Word word_5, traceagent::door::Word word_6)
#define JUMP_ARGUMENTS(typed) (word_1, word_2, word_3, word_4, word_5, word_6)
#define JUMP_LAUNCHED(describe) \
  traceagent::door::Described<decltype(describe)>::launched(word_1, word_2)
// Its parameters must stay as the convention has them, though all callers are seen to pass words.
#define JUMPED_TO [[gnu::noipa]]
#else
#define JUMP_PARAMETERS(typed) typed
#define JUMP_ARGUMENTS(typed) typed
#define JUMP_LAUNCHED(describe) 0
#define JUMPED_TO [[gnu::noinline]]
#endif
