#include <sheaf/machine.hpp>

#include <set>

#include <gtest/gtest.h>

namespace sheaf::tests::plan_machine_test {
namespace {

// Round numbers, so that every expected value can be worked out on paper.
machine round_machine() {
  machine m;
  m.name = "round";
  m.cache_bytes = 1 << 20;
  m.parallelism = 8;
  m.copy_bytes_per_second = 1000;
  m.cached_bytes_per_second = 4000;
  m.launch_seconds = 0.5;
  m.access_seconds = 0.25;
  m.random_read = {{1024, 16, 400}, {4096, 16, 200}, {65536, 16, 100}, {1024, 64, 80}, {4096, 64, 40}};
  m.random_write = {{1024, 16, 40}, {4096, 16, 20}};
  m.atomic_add = {{1024, 4, 8}, {4096, 4, 4}};
  m.streams = {{1 << 18, 4000}, {1 << 30, 1000}};
  m.latencies = {{1024, 0.125}, {4096, 0.25}};
  m.step_seconds = 0.125;
  m.barrier_seconds = 0.0625;
  return m;
}

TEST(Machine, StreamsAtTheRateOfTheNextMeasuredFootprint) {
  const machine m = round_machine();
  EXPECT_DOUBLE_EQ(m.streamed(8000, 1), 2);
  EXPECT_DOUBLE_EQ(m.streamed(8000, 1 << 18), 2);
  EXPECT_DOUBLE_EQ(m.streamed(8000, (1 << 18) + 1), 8);
  EXPECT_DOUBLE_EQ(m.streamed(8000, std::uint64_t{1} << 40), 8);
  EXPECT_DOUBLE_EQ(m.streamed(0, 1 << 30), 0);
}

TEST(Machine, StreamsFromTheCacheWhereTwoOfTheFootprintFitIfNothingElseIsKnown) {
  machine m = round_machine();
  m.streams.clear();
  EXPECT_DOUBLE_EQ(m.streamed(8000, 1 << 19), 2);
  EXPECT_DOUBLE_EQ(m.streamed(8000, (1 << 19) + 1), 8);
  EXPECT_DOUBLE_EQ(m.streamed(0, 1 << 30), 0);
}

TEST(Machine, ReadsAtTheMeasuredRateWhereItWasMeasured) {
  const machine m = round_machine();
  EXPECT_DOUBLE_EQ(m.random_reads(800, 16, 1024), 2);
  EXPECT_DOUBLE_EQ(m.random_reads(800, 16, 4096), 4);
  EXPECT_DOUBLE_EQ(m.random_reads(800, 64, 4096), 20);
  EXPECT_DOUBLE_EQ(m.random_writes(800, 16, 1024), 20);
}

TEST(Machine, AddsAtTheMeasuredRateOrElseAtThatOfWrites) {
  machine m = round_machine();
  EXPECT_DOUBLE_EQ(m.atomic_adds(16, 4, 1024), 2);
  EXPECT_DOUBLE_EQ(m.atomic_adds(16, 4, 4096), 4);
  EXPECT_DOUBLE_EQ(m.atomic_adds(16, 8, 1024), 4) << "at the bytes per second of the widest that was measured";
  m.atomic_add.clear();
  EXPECT_DOUBLE_EQ(m.atomic_adds(800, 16, 1024), 20);
}

TEST(Machine, InterpolatesOverTheLogarithmOfTheFootprint) {
  const machine m = round_machine();
  // 2048 lies halfway from 1024 to 4096 in logarithms: (400 + 200) / 2. 8192 is a quarter of the way to 65536: 175.
  EXPECT_DOUBLE_EQ(m.random_reads(600, 16, 2048), 2);
  EXPECT_DOUBLE_EQ(m.random_reads(700, 16, 8192), 4);
}

TEST(Machine, KeepsTheNearestRateOutsideTheMeasuredFootprints) {
  const machine m = round_machine();
  EXPECT_DOUBLE_EQ(m.random_reads(400, 16, 1), 1);
  EXPECT_DOUBLE_EQ(m.random_reads(400, 16, 0), 1);
  EXPECT_DOUBLE_EQ(m.random_reads(400, 16, std::uint64_t{1} << 50), 4);
}

TEST(Machine, DrawsStraightLinesBetweenMeasuredWidths) {
  const machine m = round_machine();
  EXPECT_DOUBLE_EQ(m.random_reads(400, 1, 1024), 1) << "narrower than any measured";
  EXPECT_DOUBLE_EQ(m.random_reads(480, 16, 1024), 1.2);
  EXPECT_DOUBLE_EQ(m.random_reads(480, 40, 1024), 3.6) << "half way from 1.2 to 6";
  EXPECT_DOUBLE_EQ(m.random_reads(480, 64, 1024), 6);
  EXPECT_DOUBLE_EQ(m.random_reads(40, 128, 1024), 1) << "twice the widest takes twice as long";
  EXPECT_DOUBLE_EQ(m.random_writes(40, 64, 1024), 4);
}

TEST(Machine, WorksWithAShareOfItsThreads) {
  const machine half = round_machine().with_parallelism(4);
  EXPECT_EQ(half.parallelism, 4U);
  EXPECT_DOUBLE_EQ(half.copy_bytes_per_second, 500);
  EXPECT_DOUBLE_EQ(half.cached_bytes_per_second, 2000);
  EXPECT_DOUBLE_EQ(half.random_reads(800, 16, 1024), 4);
  EXPECT_DOUBLE_EQ(half.random_writes(800, 16, 1024), 40);
  EXPECT_DOUBLE_EQ(half.launch_seconds, 0.5);
  EXPECT_DOUBLE_EQ(half.access_seconds, 0.25);
  EXPECT_DOUBLE_EQ(half.step_seconds, 0.125);
  EXPECT_DOUBLE_EQ(half.barrier_seconds, 0.0625);
  EXPECT_DOUBLE_EQ(half.streams.back().bytes_per_second, 500);
  EXPECT_DOUBLE_EQ(half.atomic_add.front().records_per_second, 4);
  EXPECT_DOUBLE_EQ(half.latencies.front().seconds, 0.125);
}

TEST(Machine, IsNotFasterWithMoreThreadsThanItWasMeasuredWith) {
  const machine more = round_machine().with_parallelism(64);
  EXPECT_EQ(more.parallelism, 64U);
  EXPECT_DOUBLE_EQ(more.copy_bytes_per_second, 1000);
  EXPECT_DOUBLE_EQ(more.random_reads(800, 16, 1024), 2);
  EXPECT_DOUBLE_EQ(more.streams.back().bytes_per_second, 1000);
  EXPECT_DOUBLE_EQ(more.atomic_add.front().records_per_second, 8);
}

TEST(ShippedMachines, CoverBothBackendsAndMakeSense) {
  std::set<backend_kind> backends;
  for (const machine& m : shipped_machines()) {
    SCOPED_TRACE(m.name);
    backends.insert(m.backend);
    EXPECT_EQ(m.source, "shipped");
    EXPECT_GE(m.cached_bytes_per_second, m.copy_bytes_per_second);
    EXPECT_LT(m.cache_bytes, m.memory_bytes);
    EXPECT_EQ(m.cache_levels.back(), m.cache_bytes);
    for (const auto* rates : {&m.random_read, &m.random_write, &m.atomic_add}) {
      for (std::size_t i = 1; i < rates->size(); ++i) {
        const access_rate& a = (*rates)[i - 1];
        const access_rate& b = (*rates)[i];
        if (a.record_bytes == b.record_bytes) {
          EXPECT_LT(a.footprint_bytes, b.footprint_bytes);
          EXPECT_LT(b.records_per_second, 20 * a.records_per_second) << "of " << b.footprint_bytes << " bytes";
          EXPECT_LT(a.records_per_second, 20 * b.records_per_second) << "of " << b.footprint_bytes << " bytes";
        } else {
          EXPECT_LT(a.record_bytes, b.record_bytes);
        }
      }
    }
  }
  EXPECT_EQ(backends, (std::set{backend_kind::cpu, backend_kind::cuda, backend_kind::opengl}));
}

TEST(ShippedMachines, AreFoundByBackendAndName) {
  EXPECT_EQ(nearest_machine(backend_kind::cuda, "NVIDIA H200").name, "NVIDIA H200");
  EXPECT_EQ(nearest_machine(backend_kind::cuda, "a device of next year").backend, backend_kind::cuda);
  EXPECT_EQ(nearest_machine(backend_kind::cpu, "").backend, backend_kind::cpu);
}

TEST(ShippedMachines, SurviveWritingAndReading) {
  for (const machine& m : shipped_machines()) {
    const std::string text = format_machine(m);
    EXPECT_EQ(format_machine(parse_machine(text, "again")), text);
  }
}

}  // namespace
}  // namespace sheaf::tests::plan_machine_test
