// Products through the graphics pipeline: over many tiles, layers and draws; the same bits in every run, called or
// prepared; what they refuse, what they keep, and who may run them.
#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sheaf/spmv.hpp>

#include "opengl/sparse/row_matrix.hpp"
#include "primitives/sparse/prepare_spmv.hpp"
#include "support/expect_error.hpp"
#include "support/opengl_test.hpp"
#include "support/trials/csr.hpp"

namespace sheaf::tests::opengl_sparse_test {
namespace {

constexpr csr_layout narrow{value_type::f32, index_type::u32, index_type::u32, false};
constexpr const char* forms[] = {"opengl.texture", "opengl.packed", "opengl.fragments", "opengl.lookup",
                                 "opengl.vertex"};
constexpr const char* of_rows_alone[] = {"opengl.packed", "opengl.fragments"};

bool takes_transposed(std::string_view form) {
  return std::find(std::begin(of_rows_alone), std::end(of_rows_alone), form) == std::end(of_rows_alone);
}

class OpenglSparse : public opengl_test {
 protected:
  // Small textures and buffers, so that each vector takes many tiles and layers and each matrix many draws.
  void cut_small() { state().lower_limits({.texture_edge = 13, .points_per_draw = 100, .vertices_per_buffer = 270}); }

  image run_of(const prepared_spmv& prepared, const csr_view& a, const spmv_options& o) const {
    const image x = numbers(o.transposed ? a.rows : a.columns, value_type::f32, x_at, false);
    image y = numbers(o.transposed ? a.columns : a.rows, value_type::f32, y_at, true);
    const placed placed_x(ctx(), x);
    const placed placed_y(ctx(), y);
    prepared.run(const_values_of(placed_x.view(), value_type::f32), values_of(placed_y.view(), value_type::f32),
                 o.alpha, o.beta);
    ctx().wait();
    y.bytes = placed_y.download();
    return y;
  }
};

TEST_F(OpenglSparse, MultipliesOverManyTilesAndDraws) {
  cut_small();
  const sparse_rows matrices[] = {banded(500, 3), at_random(700, 1300, 6), power_law(300, 2000),
                                  made_rows("empty rows", 1000, 10, [](std::uint64_t r) {
                                    return r % 7 == 0 ? column_list{r % 10, 3} : column_list{};
                                  })};
  for (const sparse_rows& m : matrices) {
    for (const char* const form : forms) {
      for (const bool transposed : {false, true}) {
        if (transposed && !takes_transposed(form)) continue;
        for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{-0.3, 2.7}}) {
          SCOPED_TRACE(fmt::format("{}, {}, transposed {}, beta {}", m.name, form, transposed, beta));
          const csr_images images(m, narrow);
          const placed_csr a(ctx(), images);
          const spmv_options o{.alpha = alpha, .beta = beta, .transposed = transposed, .variant = form};
          const image called = product_of(ctx(), a.view(), o);
          expect_near(called, expected_of(m, o, value_type::f32), value_type::f32);
          const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 3, {.transposed = transposed, .variant = form});
          expect_bytes(run_of(prepared, a.view(), o).bytes, called, "y of a prepared run");
        }
      }
      if (HasFailure()) return;
    }
  }
}

// A loop of a fragment ends at 2^15 entries, and the rest of a row is summed by further draws.
TEST_F(OpenglSparse, SumsRowsLongerThanALoop) {
  for (const std::uint64_t length : {32767, 32768, 32769, 65537, 98304}) {
    const sparse_rows m = made_rows(fmt::format("rows of {}", length), 3, 977,
                                    [&](std::uint64_t r) { return drawn_columns(r, r == 1 ? length : 5, 977); });
    const csr_images images(m, narrow);
    const placed_csr a(ctx(), images);
    const spmv_options o{.variant = "opengl.fragments"};
    expect_near(product_of(ctx(), a.view(), o), expected_of(m, o, value_type::f32), value_type::f32);
  }
}

// The first draw of rows neither adds to what its frame buffer had nor leaves rows without entries as they were.
TEST_F(OpenglSparse, WritesEveryRowWhateverItsPixelHad) {
  cut_small();
  for (const std::uint64_t longest : {0, 3, 70'000}) {
    const sparse_rows m = made_rows("few rows", 500, 10, [&](std::uint64_t r) {
      return r % 7 == 1 ? column_list(r == 1 ? longest : std::min<std::uint64_t>(longest, 3), r % 10) : column_list{};
    });
    const csr_images images(m, narrow);
    const placed_csr a(ctx(), images);
    primitives::spmv_problem p;
    p.rows = 500;
    p.columns = 10;
    p.entries = m.entries();
    p.value = value_type::f32;
    const std::vector<float> x(10, 1);
    std::vector<float> before(500, 1e6F);
    std::vector<float> y(500, -1);
    std::vector<std::byte> scratch(opengl::row_matrix::scratch_bytes(p));
    opengl::pipeline_call call(state(), "test");
    const opengl::row_matrix matrix(state(), p, a.view(), scratch.data());
    const records sums(y.data(), 500, sizeof(float));
    const auto targets = opengl::targets_of(state(), opengl::float_texels, before.size(), const_records(before));
    matrix.draw(state(), p, x.data(), targets);
    for (const opengl::tile_target& target : targets) target.pixels.read_back(sums);
    call.finish();
    for (std::uint64_t r = 0; r < 500; ++r) {
      float sum = 0;
      float magnitude = 0;
      for (const csr_entry& e : m.rows[r]) {
        sum += static_cast<float>(e.value);
        magnitude += std::abs(static_cast<float>(e.value));
      }
      EXPECT_NEAR(y[r], sum, 1e-4 * static_cast<double>(magnitude)) << r << " of longest " << longest;
    }
  }
}

// A program that draws with the context itself may leave any state. Transfers to textures of many layers skip images.
TEST_F(OpenglSparse, MultipliesWhateverStateTheCallerHasLeft) {
  cut_small();
  {
    const opengl::current_scope current(state().handle(), "test");
    for (const GLenum parameter : {GL_UNPACK_IMAGE_HEIGHT, GL_UNPACK_SKIP_IMAGES}) glPixelStorei(parameter, 17);
    for (const GLenum parameter : {GL_UNPACK_SWAP_BYTES, GL_PACK_SWAP_BYTES}) glPixelStorei(parameter, GL_TRUE);
    glPolygonMode(GL_FRONT_AND_BACK, GL_LINE);
    for (GLenum plane = 0; plane < 8; ++plane) glEnable(GL_CLIP_DISTANCE0 + plane);
    GLuint sampler = 0;
    glGenSamplers(1, &sampler);
    glSamplerParameteri(sampler, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    for (GLuint unit = 0; unit < 16; ++unit) glBindSampler(unit, sampler);
    glClampColor(GL_CLAMP_READ_COLOR, GL_TRUE);
    glBlendEquation(GL_MAX);
    glViewport(0, 0, 1, 1);
  }
  const sparse_rows m = at_random(700, 1300, 6);
  const csr_images images(m, narrow);
  const placed_csr a(ctx(), images);
  for (const char* const form : forms) {
    SCOPED_TRACE(form);
    const spmv_options o{.alpha = -0.3, .beta = 2.7, .variant = form};
    expect_near(product_of(ctx(), a.view(), o), expected_of(m, o, value_type::f32), value_type::f32);
  }
}

TEST_F(OpenglSparse, HasTheSameBitsInAHundredRuns) {
  const csr_images images(power_law(60, 900), narrow);
  const placed_csr a(ctx(), images);
  for (const char* const form : forms) {
    SCOPED_TRACE(form);
    const spmv_options o{.alpha = -0.3, .beta = 2.7, .variant = form};
    const image first = product_of(ctx(), a.view(), o);
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 100, {.variant = form});
    for (int run = 0; run < 100 && !HasFailure(); ++run) {
      expect_bytes(product_of(ctx(), a.view(), o).bytes, first, "y");
      expect_bytes(run_of(prepared, a.view(), o).bytes, first, "y of a prepared run");
    }
  }
}

TEST_F(OpenglSparse, HasTheSameBitsInEveryRun) {
  const csr_images images(power_law(1000, 30'000), narrow);
  const placed_csr a(ctx(), images);
  for (const char* const form : forms) {
    const spmv_options o{.variant = form};
    const image first = product_of(ctx(), a.view(), o);
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 5, {.variant = form});
    for (int run = 0; run < 5; ++run) {
      expect_bytes(product_of(ctx(), a.view(), o).bytes, first, form);
      expect_bytes(run_of(prepared, a.view(), o).bytes, first, form);
    }
  }
}

TEST_F(OpenglSparse, SaysWhatFrameBuffersCannotHold) {
  const auto reasons = [&](const csr_layout& layout, const spmv_options& o, std::uint64_t columns = 10) {
    const index_span offsets(nullptr, layout.has_row_ends ? 5 : 6, layout.offset);
    const index_span ends(nullptr, 5, layout.offset);
    const index_span column_list(nullptr, 20, layout.column);
    const const_values entries(nullptr, 20, layout.value);
    const csr_view a = layout.has_row_ends ? csr_view(5, columns, offsets, ends, column_list, entries)
                                           : csr_view(5, columns, offsets, column_list, entries);
    const const_values x(nullptr, o.transposed ? 5 : columns, layout.value);
    const values y(nullptr, o.transposed ? columns : 5, layout.value);
    std::vector<std::string> found;
    for (const variant_estimate& v : explain_spmv(ctx(), a, x, y, o).variants) {
      found.emplace_back(v.applicable ? "" : v.reason);
    }
    return found;
  };
  const std::string wide = "frame buffers have 32 bits a channel, but the values are f64";
  const std::string sums = "frame buffers have 32 bits a channel, but the sums are f64";
  const std::string shared = "a point is one entry, but rows with ends of their own may share entries";
  EXPECT_THAT(reasons(narrow, {}), testing::ElementsAre("", "", "", "", ""));
  EXPECT_THAT(reasons({}, {}), testing::Each(wide));
  EXPECT_THAT(reasons(narrow, {.sums = spmv_sums::f64}), testing::Each(sums));
  EXPECT_THAT(reasons({value_type::f32, index_type::u64, index_type::u32, true}, {}),
              testing::ElementsAre(shared, shared, "", shared, shared));
  EXPECT_THAT(reasons(narrow, {.transposed = true}),
              testing::ElementsAre("", "packs entries of a row, but the product is transposed",
                                   "a fragment is a row, but the product is transposed", "", ""));
  EXPECT_THAT(reasons(narrow, {}, 65537),
              testing::ElementsAre("", "", "", "the color table holds 65536 values of x", ""));
  EXPECT_THAT(reasons(narrow, {}, std::uint64_t{1} << 32), testing::Each("shaders count rows and columns in 32 bits"));
}

// Plans say what the textures of the context cannot hold, so that no call gets as far as a texture.
TEST_F(OpenglSparse, SaysWhichFormsTheTexturesOfADeviceAreTooSmallFor) {
  const auto reasons = [&](std::uint64_t rows, std::uint64_t columns, std::uint64_t entries) {
    const csr_view a(rows, columns, index_span(nullptr, rows + 1, index_type::u32),
                     index_span(nullptr, entries, index_type::u32), const_values(nullptr, entries, value_type::f32));
    std::vector<std::string> found;
    for (const variant_estimate& v :
         explain_spmv(ctx(), a, const_values(nullptr, columns, value_type::f32), values(nullptr, rows, value_type::f32))
             .variants) {
      found.emplace_back(v.applicable ? "" : v.reason);
    }
    return found;
  };
  EXPECT_THAT(reasons(500, 500, 700), testing::Each(""));  // which the context remembers
  // A layer has 8 x 8 texels, because its sides are powers of two.
  state().lower_limits({.texture_edge = 13,
                        .texture_layers = 5,
                        .buffer_texels = 310,
                        .points_per_draw = 100,
                        .vertices_per_buffer = 270});
  const std::string layers = "x takes more layers than a texture has here";
  const std::string table = "x has more values than a table of one row here";
  const std::string matrix = "the matrix takes more layers than a texture has here";
  EXPECT_THAT(reasons(320, 310, 320), testing::Each(""));
  EXPECT_THAT(reasons(320, 311, 320), testing::ElementsAre("", "", "", table, ""));
  EXPECT_THAT(reasons(320, 321, 320), testing::ElementsAre(layers, layers, layers, table, ""));
  EXPECT_THAT(reasons(321, 300, 320), testing::ElementsAre("", "", matrix, "", ""));
  EXPECT_THAT(reasons(320, 300, 321), testing::ElementsAre("", "", matrix, "", ""));
}

// What a form refuses another one does, and the results of those that run are right up to the limit.
TEST_F(OpenglSparse, MultipliesUpToTheLimitsAndByOtherFormsBeyondThem) {
  state().lower_limits({.texture_edge = 13,
                        .texture_layers = 5,
                        .buffer_texels = 100,
                        .points_per_draw = 100,
                        .vertices_per_buffer = 270});
  for (const std::uint64_t columns : {99, 100, 101, 319, 320, 321, 2000}) {
    const sparse_rows m = at_random(40, columns, 5);
    const csr_images images(m, narrow);
    const placed_csr a(ctx(), images);
    for (const char* const form : forms) {
      SCOPED_TRACE(fmt::format("{} columns, {}", columns, form));
      const spmv_options o{.variant = form};
      const bool fits = std::string_view(form) == "opengl.vertex"   ? true
                        : std::string_view(form) == "opengl.lookup" ? columns <= 100
                                                                    : columns <= 320;
      if (fits) {
        const image called = product_of(ctx(), a.view(), o);
        expect_near(called, expected_of(m, o, value_type::f32), value_type::f32);
        expect_bytes(run_of(prepare_spmv(ctx(), a.view(), 3, {.variant = form}), a.view(), o).bytes, called, form);
      } else {
        for (const std::string& message :
             {message_of(error_code::no_variant, [&] { product_of(ctx(), a.view(), o); }),
              message_of(error_code::no_variant, [&] { prepare_spmv(ctx(), a.view(), 3, {.variant = form}); })}) {
          EXPECT_THAT(message, testing::HasSubstr(fmt::format("{} (x ", form)));
        }
      }
    }
    expect_near(product_of(ctx(), a.view(), {}), expected_of(m, {}, value_type::f32), value_type::f32);
  }
}

TEST_F(OpenglSparse, PricesWhatGoesThereAndComesBack) {
  const csr_images images(banded(5000, 4), narrow);
  const placed_csr a(ctx(), images);
  const const_values x(nullptr, 5000, value_type::f32);
  const values y(nullptr, 5000, value_type::f32);
  for (const variant_estimate& v : explain_spmv(ctx(), a.view(), x, y).variants) {
    std::vector<std::string> terms;
    for (const cost_term& t : v.terms) {
      terms.emplace_back(t.what);
      EXPECT_GT(t.seconds, 0) << v.variant << " " << t.what;
    }
    EXPECT_THAT(terms, testing::IsSupersetOf({"vectors", "passes", "readback", "upload"})) << v.variant;
  }
}

// Loading time, the time of a run, and the runs that make up for it (Ujaldon and Saltz 2005, table 5).
TEST_F(OpenglSparse, ReportsWhatAPreparationCostAndKeeps) {
  const csr_images images(banded(1000, 3), narrow);
  const placed_csr a(ctx(), images);
  const std::uint64_t entries = images.values.count;
  for (const char* const form : forms) {
    const prepared_spmv prepared = prepare_spmv(ctx(), a.view(), 1, {.variant = form});
    const spmv_preparation& report = prepared.report();
    EXPECT_EQ(report.variant, form);
    EXPECT_EQ(report.product, form);
    EXPECT_GT(report.preparation_seconds, 0);
    EXPECT_GT(report.run_seconds, 0);
    const const_values x(nullptr, 1000, value_type::f32);
    const values y(nullptr, 1000, value_type::f32);
    for (const variant_estimate& v : explain_spmv(ctx(), a.view(), x, y, {.beta = 1}).variants) {
      if (v.variant != form) continue;
      EXPECT_LT(report.run_seconds, v.seconds) << form << " uploads the matrix at each call";
    }
    const bool is_of_rows = report.product == "opengl.fragments";
    if (report.product != "opengl.packed") {
      EXPECT_EQ(report.kept_bytes, is_of_rows ? 8 * (entries + 1000) : 12 * entries) << form;
    }
  }
}

TEST_F(OpenglSparse, KeepsNoMoreThanItsEntriesWhereTheyTakeManyBuffers) {
  state().lower_limits({.texture_edge = 13, .points_per_draw = 100, .vertices_per_buffer = 270});
  const csr_images images(banded(100, 2), narrow);
  const placed_csr a(ctx(), images);
  const std::uint64_t entries = images.values.count;
  ASSERT_GT(entries, 270U);
  for (const char* const form : {"opengl.texture", "opengl.lookup", "opengl.vertex"}) {
    EXPECT_EQ(prepare_spmv(ctx(), a.view(), 1, {.variant = form}).report().kept_bytes, 12 * entries) << form;
  }
}

// The driver's linker takes longer than many a product.
TEST_F(OpenglSparse, PreparationsLinkTheProgramsOfRuns) {
  const csr_images images(banded(100, 2), narrow);
  for (const char* const form : forms) {
    SCOPED_TRACE(form);
    const context fresh = context::opengl();
    const placed_csr a(fresh, images);
    EXPECT_EQ(opengl::state_of(fresh).linked_programs(), 0U);
    const prepared_spmv prepared = prepare_spmv(fresh, a.view(), 1, {.variant = form});
    const std::size_t linked = opengl::state_of(fresh).linked_programs();
    EXPECT_GT(linked, 0U);
    run_of(prepared, a.view(), {.alpha = 1, .beta = 0});
    run_of(prepared, a.view(), {.alpha = 2, .beta = 1});
    EXPECT_EQ(opengl::state_of(fresh).linked_programs(), linked);
  }
}

TEST_F(OpenglSparse, TrialRunsAreNoPartOfLoading) {
  const csr_images images(banded(1000, 3), narrow);
  const placed_csr a(ctx(), images);
  EXPECT_EQ(prepare_spmv(ctx(), a.view(), 15).report().trial_seconds, 0);
  const spmv_preparation tried = prepare_spmv(ctx(), a.view(), 1'000'000).report();
  EXPECT_GT(tried.trial_seconds, 0) << tried.variant;
  const double saved = tried.unprepared_seconds - tried.run_seconds;
  if (saved > 1e-9) {
    EXPECT_EQ(tried.pays_after_runs, static_cast<std::uint64_t>(std::ceil(tried.preparation_seconds / saved)));
  }
}

TEST_F(OpenglSparse, PreparationsNameWhatIsWrongWithAMatrix) {
  csr_images images(banded(100, 2), narrow);
  set_entry(images.column_indices, 248, 100);
  const auto message = [&](const char* form) {
    const placed_csr a(ctx(), images);
    return message_of(error_code::bad_index, [&] { prepare_spmv(ctx(), a.view(), 5, {.variant = form}); });
  };
  for (const char* const form : forms) {
    EXPECT_EQ(message(form), "prepare_spmv: column_indices[248], of row 50, is 100, past the matrix's 100 columns");
  }
  set_entry(images.begins, 51, 246);
  for (const char* const form : forms) {
    EXPECT_EQ(message(form), "prepare_spmv: row 50 begins at 247 and ends at 246, before it begins");
  }
}

TEST_F(OpenglSparse, PreparedProductsOutliveTheirContextAndChangeThreads) {
  const sparse_rows m = banded(300, 2);
  const csr_images images(m, narrow);
  for (const char* const form : forms) {
    std::vector<float> x(300, 1);
    std::vector<float> y(300);
    std::optional<prepared_spmv> prepared;
    {
      const context ends_first = context::opengl();
      const placed_csr a(ends_first, images);
      prepared.emplace(prepare_spmv(ends_first, a.view(), 5, {.variant = form}));
      std::thread([&] { prepared->run(const_values(x), values(y)); }).join();
      const std::vector<float> first = y;
      prepared->run(const_values(x), values(y));
      EXPECT_EQ(y, first) << form;
    }
    std::thread([&] { prepared.reset(); }).join();
  }
}

TEST_F(OpenglSparse, KeepsToALimitOfScratch) {
  const csr_images images(banded(1000, 3), narrow);
  context limited = context::opengl();
  limited.limit_scratch(100);
  const placed_csr a(limited, images);
  EXPECT_THAT(
      message_of(error_code::out_of_memory, [&] { product_of(limited, a.view(), {.variant = "opengl.fragments"}); }),
      testing::HasSubstr("the context's limit is 100"));
  for (const char* const form : {"opengl.texture", "opengl.packed", "opengl.vertex", "opengl.lookup"}) {
    const image whole = product_of(limited, a.view(), {.variant = form});
    EXPECT_EQ(whole.count, 1000U);
  }
}

}  // namespace
}  // namespace sheaf::tests::opengl_sparse_test
