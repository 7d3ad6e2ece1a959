#pragma once

#include <memory>
#include <utility>

#include <sheaf/distributed/transport.hpp>

#include "distributed/devices/device.hpp"

namespace sheaf::distributed {

/// What transports between devices share. Messages in host memory, and notes, go over another transport, `control`.
/// Numbers of its messages are twice its own, so that they are even; those of messages in the memory of devices are
/// odd.
class device_transport : public transport {
 public:
  int rank() const noexcept final { return control_->rank(); }
  int size() const noexcept final { return control_->size(); }
  bool carries_device_memory() const noexcept final { return true; }
  int device() const noexcept final { return device_; }
  std::uint64_t most_message_bytes() const noexcept final { return control_->most_message_bytes(); }
  void post(int to, const control_note& note) noexcept final { control_->post(to, note); }
  bool take(control_note& note) noexcept final { return control_->take(note); }
  bool has_ended(int other) const noexcept final { return control_->has_ended(other); }

  std::uint64_t start(std::span<const outgoing_message> out, std::span<const incoming_message> in) noexcept final {
    return 2 * control_->start(out, in);
  }
  std::uint64_t start_on(CUstream_st* stream, std::span<const outgoing_message> out,
                         std::span<const incoming_message> in) noexcept final {
    const current_device here(device_);
    const std::uint64_t number = ++started_;
    return begin(number, stream, out, in) ? 2 * number + 1 : 0;
  }
  transfer_state poll(std::uint64_t started) noexcept final {
    if (started % 2 == 0) return control_->poll(started / 2);
    const current_device here(device_);
    return state_of(started / 2);
  }
  void cancel(std::uint64_t started) noexcept final {
    if (started % 2 == 0) return control_->cancel(started / 2);
    give_up(started / 2);
  }
  void abandon() noexcept override { control_->abandon(); }

 protected:
  device_transport(std::shared_ptr<transport> control, int device) : control_(std::move(control)), device_(device) {}
  const transport& control() const noexcept { return *control_; }

  // Messages in the memory of devices, by numbers of their own. The device is current where they begin and where they
  // are asked for.

  /// False: they could not begin.
  virtual bool begin(std::uint64_t number, CUstream_st* stream, std::span<const outgoing_message> out,
                     std::span<const incoming_message> in) noexcept = 0;
  virtual transfer_state state_of(std::uint64_t number) noexcept = 0;
  virtual void give_up(std::uint64_t number) noexcept = 0;

 private:
  std::shared_ptr<transport> control_;
  int device_;
  std::uint64_t started_ = 0;
};

}  // namespace sheaf::distributed
