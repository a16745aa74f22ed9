// from_cpp.cpp: the library from C++: a context that closes itself, errors as exceptions, vectors in and out. Prices are sorted with their
// days, then those of at least 100 are picked. Build: c++ -std=c++17 from_cpp.cpp -lupsweep
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include <upsweep.h>

class Upsweep {
  public:
    explicit Upsweep(const char *backend) {
        upsweep_context *ctx = nullptr;
        if (upsweep_open(&ctx, backend) != UPSWEEP_OK) throw std::runtime_error(upsweep_error(nullptr));
        ctx_.reset(ctx);
    }

    void sort_pairs(std::vector<float> &keys, std::vector<uint32_t> &values) {
        check(upsweep_sort_pairs(ctx_.get(), keys.data(), keys.data(), values.data(), values.data(), keys.size(), UPSWEEP_F32,
                                 sizeof values[0], nullptr));
    }

    std::vector<float> at_least(const std::vector<float> &in, float least) {
        upsweep_predicate keep = {};
        keep.cmp = UPSWEEP_GE;
        keep.value.f = least;
        std::vector<float> out(in.size());
        uint64_t count = 0;
        check(upsweep_compact(ctx_.get(), out.data(), &count, in.data(), in.size(), UPSWEEP_F32, &keep));
        out.resize(count);
        return out;
    }

  private:
    struct Close {
        void operator()(upsweep_context *ctx) const { upsweep_close(ctx); }
    };
    std::unique_ptr<upsweep_context, Close> ctx_;

    void check(upsweep_status status) {
        if (status != UPSWEEP_OK) throw std::runtime_error(upsweep_error(ctx_.get()));
    }
};

int main() {
    try {
        std::vector<float> prices = {104.5f, 99.0f, 101.25f, 97.5f, 100.0f, 110.75f, 98.0f, 103.0f};
        std::vector<uint32_t> days = {0, 1, 2, 3, 4, 5, 6, 7};
        Upsweep upsweep("cpu"); // whose memory is any memory of the host
        upsweep.sort_pairs(prices, days);
        std::printf("cheapest on day %u, dearest on day %u\n", days.front(), days.back());
        const std::vector<float> high = upsweep.at_least(prices, 100.0f);
        std::printf("%zu of 8 at 100 or more\n", high.size());
        return days.front() == 3 && days.back() == 5 && high.size() == 5 && high.front() == 100.0f ? 0 : 1;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
