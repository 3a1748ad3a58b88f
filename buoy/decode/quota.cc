#include "buoy/decode/quota.h"

#include <cmath>

namespace buoy {

Index even_quota(Index M, Index S, Index i) {
  return M / S + (i < M % S ? 1 : 0);
}

std::vector<Index> scheduled_quotas(Index M, Index S) {
  std::vector<Index> quotas;
  const auto alpha = [&](Index i) {  // how much is not noise at a time of i/S
    return 1.0f - static_cast<float>(static_cast<double>(i) / static_cast<double>(S));
  };
  for (Index i = 0; i < S && M > 0; ++i) {
    const float stays = (1.0f - alpha(S - i - 1)) / (1.0f - alpha(S - i));
    // The default rounding mode is half to even, as torch.round.
    const auto count = static_cast<Index>(std::nearbyint(static_cast<double>(M) * double{1.0f - stays}));
    if (count > 0) quotas.push_back(count);
    M -= count;
  }
  return quotas;
}

}  // namespace buoy
