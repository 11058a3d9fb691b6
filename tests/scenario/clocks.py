"""A service whose wall clock can be set wrong."""
import os

from harness import Service

HOUR_SECONDS = 60 * 60
DAY_SECONDS = 24 * HOUR_SECONDS


class ClockService(Service):
    """Its processes see a wall clock shifted by `set_clock()` seconds."""

    @property
    def offset(self):
        return self.home / "clock"

    def environment(self):
        checks = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return {**super().environment(), "LD_PRELOAD": str(self.build / "tests" / "fault" / "clock.so"),
                "ASAN_OPTIONS": checks, "CLOCK_OFFSET_FILE": str(self.offset)}

    def set_clock(self, seconds):
        self.expect_log("event=service_time_(ahead|differs)")
        fresh = self.offset.with_suffix(".new")
        fresh.write_text(str(seconds))
        fresh.rename(self.offset)
