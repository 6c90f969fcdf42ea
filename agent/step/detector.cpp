#include "agent/step/detector.hpp"

namespace traceagent::step {

struct Detector::State {
  DetectorListener& listener;
};

Detector::Detector(DetectorListener& listener) : state_(std::make_unique<State>(listener)) {}
Detector::~Detector() = default;
void Detector::feed(const Token&) noexcept {}
bool Detector::wants_launches() const noexcept { return true; }
bool Detector::wants_boundaries() const noexcept { return true; }
bool Detector::wants_collectives() const noexcept { return true; }
bool Detector::locked() const noexcept { return false; }
bool Detector::has_candidate() const noexcept { return false; }

}  // namespace traceagent::step
