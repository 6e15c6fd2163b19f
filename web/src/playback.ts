// The clock of the playback: converts elapsed seconds to frames.

export interface Clock {
  frame: number;
  playing: boolean;
  loop: boolean;
  speed: number;
}

export interface Range { start: number; end: number; rate: number }

/** The clock after some seconds. At an end of the range it continues from the other end with `loop`, and stops without.
 * In an empty range it stops at once. */
export function advance(clock: Clock, range: Range, seconds: number): Clock {
  if (!clock.playing) return clock;
  const span = range.end - range.start;
  if (!(span > 0)) return { ...clock, frame: range.start, playing: false };
  let frame = clock.frame + seconds * range.rate * clock.speed;
  if (frame >= range.start && frame <= range.end) return { ...clock, frame };
  if (clock.loop) {
    frame = range.start + ((((frame - range.start) % span) + span) % span);
    return { ...clock, frame };
  }
  return { ...clock, frame: frame > range.end ? range.end : range.start, playing: false };
}

/** Starts the clock. Without `loop`, a clock that has reached the end starts again from the other end. */
export function restart(clock: Clock, range: Range): Clock {
  if (clock.loop) return { ...clock, playing: true };
  const atEnd = clock.speed >= 0 ? clock.frame >= range.end : clock.frame <= range.start;
  return { ...clock, playing: true, frame: atEnd ? (clock.speed >= 0 ? range.start : range.end) : clock.frame };
}
