"""What pyloudnorm and libebur128 say of each file that is named, as lines of JSON."""

import json
import math
import sys
import warnings

import numpy
import pyebur128
import pyloudnorm
from scipy.io import wavfile

warnings.filterwarnings("ignore")
MODES = pyebur128.MeasurementMode


def by_libebur128(samples, rate):
    channels = samples.shape[1]
    mode = MODES.MODE_I | MODES.MODE_LRA | MODES.MODE_S | MODES.MODE_TRUE_PEAK
    state = pyebur128.R128State(channels, rate, mode)
    step = rate // 10
    most = -math.inf
    for at in range(0, len(samples), step):
        part = numpy.ascontiguousarray(samples[at : at + step]).reshape(-1)
        state.add_frames(part, len(part) // channels)
        if at + step >= 3 * rate:
            most = max(most, pyebur128.get_loudness_shortterm(state))
    peak = max(pyebur128.get_true_peak(state, channel) for channel in range(channels))
    return {
        "integrated": pyebur128.get_loudness_global(state),
        "range": pyebur128.get_loudness_range(state),
        "short_term_max": most,
        "true_peak": 20 * math.log10(peak) if peak > 0 else -math.inf,
    }


for path in sys.argv[1:]:
    rate, samples = wavfile.read(path)
    samples = samples.astype(numpy.float64)
    if samples.ndim == 1:
        samples = samples.reshape(-1, 1)
    integrated = pyloudnorm.Meter(rate).integrated_loudness(samples)
    told = {"pyloudnorm": {"integrated": integrated}, "libebur128": by_libebur128(samples, rate)}
    finite = {
        meter: {fact: value for fact, value in facts.items() if math.isfinite(value)} for meter, facts in told.items()
    }
    print(json.dumps(finite), flush=True)
