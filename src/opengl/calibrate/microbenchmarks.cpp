#include "plan/microbenchmarks.hpp"

#include <chrono>

#include <fmt/format.h>

#include "core/composition.hpp"
#include "core/host.hpp"
#include "opengl/device/errors.hpp"
#include "opengl/device/kept_objects.hpp"
#include "opengl/device/state.hpp"
#include "opengl/device/transfer.hpp"
#include "opengl/movement/sum_pixels.hpp"
#include "primitives/movement/gather.hpp"
#include "primitives/movement/prepare.hpp"
#include "primitives/movement/scatter.hpp"

namespace sheaf::opengl {

extern const primitives::gather_variant gather_texture;  // movement/gather_texture.cpp

namespace {

constexpr program_files fetch_files{"pixels.vert", "", "probe_fetch.frag"};
constexpr program_files chase_files{"pixels.vert", "", "probe_chase.frag"};
constexpr program_files probe_point_files{"probe_points.vert", "", "record.frag"};
constexpr program_files blend_files{"probe_points.vert", "", "value.frag"};

constexpr std::uint64_t fragments_per_draw = std::uint64_t{1} << 20;   // a draw of seconds may look like a hang
constexpr std::uint64_t most_steps_per_draw = std::uint64_t{1} << 15;  // llvmpipe ends loops after 65535 rounds
// Past the caches, and past what an allocator keeps: a driver in software takes memory from the system at each upload.
constexpr std::uint64_t transfer_bytes = std::uint64_t{64} << 20;

constexpr GLenum total_memory_in_kibibytes = 0x9048;  // GL_NVX_gpu_memory_info

using clock = std::chrono::steady_clock;

template <class Work>
double seconds_of_draws(Work work) {
  glFinish();
  const clock::time_point begin = clock::now();
  work();
  glFinish();
  return std::chrono::duration<double>(clock::now() - begin).count();
}

texel_format blended_texels(std::uint64_t bytes) {
  return bytes == 4 ? float_texels : texel_format{GL_RG32F, GL_RG, GL_FLOAT, 8};
}

/// A tile that is drawn to or read, and what for.
struct probed_array {
  std::uint64_t footprint;
  texel_format texels;
  tile where;
  draw_target pixels;

  probed_array(std::uint64_t bytes, const texel_format& format, const tile& t)
      : footprint(bytes), texels(format), where(t), pixels(format, t) {
    pixels.clear();
  }
};

/// What one measurement leaves for the next.
struct probed_arrays {
  std::optional<probed_array> table;
  std::optional<probed_array> cycle;
};

class pipeline_microbenchmarks final : public plan::microbenchmarks {
 public:
  explicit pipeline_microbenchmarks(const context& ctx) : ctx_(ctx), arrays_(ctx, {}) {}

  machine describe() override {
    pipeline_call call(state_of(ctx_), "calibrate");
    machine machine;
    machine.name = ctx_.state().device_name;
    machine.backend = backend_kind::opengl;
    machine.memory_bytes = core::host_memory_bytes();
    machine.cache_levels = core::host_cache_levels();
    machine.sector_bytes = machine.fetch_bytes = core::host_line_bytes();
    // Mesa 25's renderer in software has the extension too, and answers with a negative number.
    if (!state_of(ctx_).is_software() && epoxy_has_gl_extension("GL_NVX_gpu_memory_info")) {
      GLint kibibytes = 0;
      glGetIntegerv(total_memory_in_kibibytes, &kibibytes);
      if (kibibytes > 0) machine.memory_bytes = static_cast<std::uint64_t>(kibibytes) * 1024;
      // OpenGL does not tell what caches a GPU has. These are as small as any has today.
      machine.cache_levels = {std::uint64_t{64} << 10, std::uint64_t{4} << 20};
      machine.sector_bytes = machine.fetch_bytes = 32;
    }
    machine.cache_bytes = machine.cache_levels.back();
    const auto* const version = reinterpret_cast<const char*>(glGetString(GL_VERSION));
    machine.versions["OpenGL"] = version == nullptr ? "unknown" : version;
    call.finish();
    return machine;
  }

  std::uint64_t reserve(std::uint64_t bytes) override {
    const std::uint64_t edge = std::bit_floor(state_of(ctx_).limits().texture_edge);
    return std::min(bytes, edge * edge * sizeof(std::uint32_t));
  }

  plan::timing stream(std::uint64_t footprint, std::uint64_t bytes) override {
    pipeline_call call(state_of(ctx_), "calibrate: copies");
    const texel_format texels = texels_for(16);
    const tile half = tiles_of(footprint / 2 / texels.bytes, ~std::uint32_t{0} >> 1).front();
    const probed_array& from = array_of(arrays_->table, footprint / 2, texels);
    const draw_target to(texels, half);
    const program& fetch = used(fetch_files, from);
    fetch.set("mask", std::uint32_t{0});
    to.bind();
    draw_all_pixels();
    const std::uint64_t rounds = (bytes + footprint - 1) / footprint;
    const double seconds = seconds_of_draws([&] {
      for (std::uint64_t round = 0; round < rounds; ++round) draw_all_pixels();
    });
    call.finish();
    return {seconds, rounds * footprint};
  }

  plan::timing chase(std::uint64_t footprint, std::uint64_t count) override {
    pipeline_call call(state_of(ctx_), "calibrate: dependent reads");
    const texel_format texels;
    if (!arrays_->cycle || arrays_->cycle->footprint != footprint) write_cycle(footprint);
    const draw_target to(texels, tiles_of(1, 1).front());
    const program& follow = used(chase_files, *arrays_->cycle);
    to.bind();
    const double seconds = seconds_of_draws([&] {
      for (std::uint64_t done = 0; done < count; done += most_steps_per_draw) {
        follow.set("steps", static_cast<std::uint32_t>(std::min(count - done, most_steps_per_draw)));
        // Somewhere else on the cycle: what the draw before has read is in the caches.
        follow.set("start", (++runs_ * 0x9e3779b1U) & static_cast<std::uint32_t>(arrays_->cycle->where.count - 1));
        draw_all_pixels();
      }
    });
    call.finish();
    return {seconds, count};
  }

  plan::timing access(plan::access_kind kind, std::uint64_t record_bytes, std::uint64_t footprint,
                      std::uint64_t count) override {
    pipeline_call call(state_of(ctx_), "calibrate: accesses");
    const bool blends = kind == plan::access_kind::atomic_add;
    const texel_format texels = blends ? blended_texels(record_bytes) : texels_for(record_bytes);
    const probed_array& array = array_of(arrays_->table, footprint, texels);
    const plan::timing found = kind == plan::access_kind::read ? fetches(array, count) : points(array, count, blends);
    call.finish();
    return found;
  }

  plan::timing calls(std::uint64_t count) override {
    const std::array<std::uint32_t, 1> table{7};
    const std::array<std::uint32_t, 1> index{0};
    std::array<std::uint32_t, 1> out{};
    std::array<std::uint32_t, 1> scratch{};
    const const_records from(table);
    const records to(out);
    const primitives::gather_problem problem = {primitives::describe_movement(
        ctx_, to, std::span<const std::uint32_t>(index), from, access_pattern::unknown(), bounds::check)};
    const clock::time_point begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) {
      const plan::planned plan = gather_texture.plan(problem, ctx_.profile());
      gather_texture.run(ctx_, problem, plan, {from, std::span<const std::uint32_t>(index), to},
                         reinterpret_cast<std::byte*>(scratch.data()));
      ctx_.wait();
    }
    return {std::chrono::duration<double>(clock::now() - begin).count(), count};
  }

  plan::timing steps(std::uint64_t count) override { return passes("calibrate: steps", count, 1); }
  // A pass that reads what the one before has written waits for all of it.
  plan::timing barriers(std::uint64_t count) override { return passes("calibrate: barriers", count, 2); }

  plan::timing upload(std::uint64_t bytes) override {
    return transfers("calibrate: uploads", bytes, [](const texel_format& texels, const tile& t, records array) {
      const texture made = uploaded(texels, t, array);
    });
  }
  plan::timing read_back(std::uint64_t bytes) override {
    pipeline_call call(state_of(ctx_), "calibrate: readbacks");
    const probed_array& from = array_of(arrays_->table, transfer_bytes, texels_for(16));
    return transfers("calibrate: readbacks", bytes,
                     [&](const texel_format&, const tile&, records array) { from.pixels.read_back(array); });
  }

 private:
  const program& used(const program_files& files, const probed_array& table) {
    const program& program = state_of(ctx_).program_of(files);
    program.use();
    program.set_unit("table", 0);
    program.set("width_bits", table.where.width_bits);
    bind_texture(0, table.pixels.color());
    return program;
  }

  // An array that stays for the next run of the same kind. Its pixels have been written, so its memory is there.
  const probed_array& array_of(std::optional<probed_array>& kept, std::uint64_t footprint, const texel_format& texels) {
    if (!kept || kept->footprint != footprint || kept->texels.internal != texels.internal) {
      kept.reset();
      kept.emplace(footprint, texels, tiles_of(footprint / texels.bytes, ~std::uint32_t{0} >> 1).front());
    }
    return *kept;
  }

  // Links all texels of the footprint into one cycle.
  void write_cycle(std::uint64_t footprint) {
    const texel_format texels;
    const std::uint64_t nodes = footprint / texels.bytes;
    const int bits = std::countr_zero(nodes);
    std::vector<std::uint32_t> next(nodes);
    for (std::uint64_t i = 0; i < nodes; ++i) {
      next[plan::shuffled(i, bits)] = static_cast<std::uint32_t>(plan::shuffled((i + 1) % nodes, bits));
    }
    arrays_->cycle.reset();
    arrays_->cycle.emplace(footprint, texels, tiles_of(nodes, ~std::uint32_t{0} >> 1).front());
    bind_texture(0, arrays_->cycle->pixels.color());
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, static_cast<GLsizei>(arrays_->cycle->where.width()),
                    static_cast<GLsizei>(arrays_->cycle->where.height), texels.format, texels.type, next.data());
    require_no_error("glTexSubImage2D");
  }

  plan::timing fetches(const probed_array& table, std::uint64_t count) {
    const std::uint64_t fragments = std::min(std::bit_ceil(count), fragments_per_draw);
    const draw_target to(table.texels, tiles_of(fragments, ~std::uint32_t{0} >> 1).front());
    const program& fetch = used(fetch_files, table);
    fetch.set("mask", static_cast<std::uint32_t>(table.where.count - 1));
    to.bind();
    const std::uint64_t rounds = (count + fragments - 1) / fragments;
    const double seconds = seconds_of_draws([&] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        fetch.set("seed", ++runs_ * 0x85ebca6bU);
        draw_all_pixels();
      }
    });
    return {seconds, rounds * fragments};
  }

  plan::timing points(const probed_array& to, std::uint64_t count, bool blends) {
    const program& program = state_of(ctx_).program_of(blends ? blend_files : probe_point_files);
    program.use();
    program.set("mask", static_cast<std::uint32_t>(to.where.count - 1));
    to.pixels.bind();
    set_viewport_of(program, to.where);
    if (blends) begin_sums();
    const vertex_array no_attributes;
    glBindVertexArray(no_attributes.name());
    const std::uint64_t most = std::min(fragments_per_draw, state_of(ctx_).limits().points_per_draw);
    const double seconds = seconds_of_draws([&] {
      for (std::uint64_t done = 0; done < count; done += most) {
        program.set("seed", ++runs_ * 0x85ebca6bU);
        glDrawArrays(GL_POINTS, 0, static_cast<GLsizei>(std::min(count - done, most)));
        state_of(ctx_).flush_points_in_software();
      }
    });
    glBindVertexArray(0);
    return {seconds, count};
  }

  // Passes that draw one pixel, to so many targets in turn, each of which reads the other.
  plan::timing passes(std::string_view what, std::uint64_t count, std::size_t targets) {
    pipeline_call call(state_of(ctx_), what);
    const tile one = tiles_of(1, 1).front();
    const std::array<probed_array, 2> pixels{probed_array{4, {}, one}, probed_array{4, {}, one}};
    used(fetch_files, pixels[1]).set("mask", std::uint32_t{0});
    pixels[0].pixels.bind();
    const double seconds = seconds_of_draws([&] {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (targets > 1) {
          bind_texture(0, pixels[(i + 1) % 2].pixels.color());
          pixels[i % 2].pixels.bind();
        }
        draw_all_pixels();
      }
    });
    call.finish();
    return {seconds, count};
  }

  template <class Move>
  plan::timing transfers(std::string_view what, std::uint64_t bytes, Move move) {
    pipeline_call call(state_of(ctx_), what);
    const texel_format texels = texels_for(16);
    const tile tile = tiles_of(transfer_bytes / texels.bytes, ~std::uint32_t{0} >> 1).front();
    host_.resize(transfer_bytes, std::byte{1});
    const records array(host_.data(), tile.count, texels.bytes);
    const std::uint64_t rounds = (bytes + transfer_bytes - 1) / transfer_bytes;
    const double seconds = seconds_of_draws([&] {
      for (std::uint64_t round = 0; round < rounds; ++round) move(texels, tile, array);
    });
    call.finish();
    return {seconds, rounds * transfer_bytes};
  }

  context ctx_;
  kept_objects<probed_arrays> arrays_;
  std::vector<std::byte> host_;
  std::uint32_t runs_ = 0;
};

}  // namespace

std::unique_ptr<plan::microbenchmarks> make_microbenchmarks(const context& ctx) {
  return std::make_unique<pipeline_microbenchmarks>(ctx);
}

}  // namespace sheaf::opengl
