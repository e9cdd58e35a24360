//! The bytes of one stream, a part at a time.
//!
//! Invariant: of a stream only a window of [`WINDOW`] bytes is held, and a window that is not
//! [low](Window::low) shows at least [`AHEAD`] bytes, more than any record takes, or all that is
//! left of its block.

use deadheat_core::codec::{Fault, varint};

use super::blocks::Stream;
use super::merge::Shared;
use crate::error::{Error, ErrorKind};

/// Bytes of a stream that are held at a time.
const WINDOW: usize = 64 << 10;

/// A record is decoded only with this many bytes in sight, or with the block's last ones.
const AHEAD: usize = 512;
const _: () = assert!(AHEAD > 2 + 255 + deadheat_core::codec::MAX_EVENT && WINDOW >= 4 * AHEAD);

/// A part of a stream's present block.
#[derive(Default)]
pub(super) struct Window {
    bytes: Vec<u8>,
    /// The next byte to be read.
    pub(super) at: usize,
    end: usize,
    /// The file's offset of the window's first byte.
    base: u64,
    /// The next block of the stream.
    block: usize,
    /// Bytes of the present block behind the window.
    left: u64,
    /// The file ends within the present block.
    cut: bool,
    stream: Stream,
}

impl Window {
    /// A window before the stream's first block; `used` is one that is no longer needed.
    pub(super) fn start(stream: Stream, used: Window) -> Window {
        Window { stream, bytes: used.bytes, ..Window::default() }
    }

    /// Takes the stream out.
    pub(super) fn take_stream(&mut self) -> Stream {
        std::mem::take(&mut self.stream)
    }

    /// All bytes that are held, those before [`Self::at`] too.
    #[inline(always)]
    pub(super) fn held(&self) -> &[u8] {
        &self.bytes[..self.end]
    }

    /// The bytes in sight.
    #[inline(always)]
    pub(super) fn sight(&self) -> &[u8] {
        &self.bytes[self.at..self.end]
    }

    /// Whether [`Self::refill`] is needed before a record is decoded.
    #[inline(always)]
    pub(super) fn low(&self) -> bool {
        self.end - self.at < AHEAD && self.left > 0
    }

    /// The file ends within the present block.
    pub(super) fn cut(&self) -> bool {
        self.cut
    }

    /// Reads a varint.
    #[inline]
    pub(super) fn number(&mut self) -> Result<u64, Fault> {
        let (number, at) = match self.held().get(self.at) {
            Some(&byte) if byte < 0x80 => (u64::from(byte), self.at + 1),
            _ => varint(self.held(), self.at)?,
        };
        self.at = at;
        Ok(number)
    }

    /// Moves on to the stream's next block; says whether there is one.
    pub(super) fn next_block(&mut self, shared: &mut Shared<'_>) -> Result<bool, Error> {
        if self.cut && self.at == self.end {
            return Err(shared.error(ErrorKind::Truncated, self.position(), "the file ends within a block"));
        }
        let Some(&block) = self.stream.blocks.get(self.block) else { return Ok(false) };
        self.block += 1;
        (self.at, self.end) = (0, 0);
        (self.base, self.left, self.cut) = (block.start, block.len, block.cut);
        self.refill(shared)?;
        Ok(true)
    }

    /// Moves what is left of the window to its front and fills it up from the file.
    #[cold]
    #[inline(never)]
    pub(super) fn refill(&mut self, shared: &mut Shared<'_>) -> Result<(), Error> {
        let kept = self.end - self.at;
        self.bytes.copy_within(self.at..self.end, 0);
        self.base += self.at as u64;
        (self.at, self.end) = (0, kept);
        let more = self.left.min((WINDOW - kept) as u64) as usize;
        if self.bytes.len() < kept + more {
            self.bytes.resize(kept + more, 0);
        }
        let from = self.base + kept as u64;
        let got = shared.read(&mut self.bytes[kept..kept + more], from)?;
        self.end = kept + got;
        self.left -= more as u64;
        if got < more {
            (self.left, self.cut) = (0, true);
        }
        Ok(())
    }

    /// The file's offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.base + self.at as u64
    }

    /// The error for a fault of the record at hand.
    #[cold]
    pub(super) fn fault(&self, fault: Fault, shared: &Shared<'_>) -> Error {
        if fault == Fault::Short && self.cut {
            let end = self.base + self.end as u64;
            return shared.error(ErrorKind::Truncated, end, "the file ends within a block");
        }
        self.corrupt(fault.reason(), shared)
    }

    /// The error for a record that is wrong.
    #[cold]
    pub(super) fn corrupt(&self, reason: &str, shared: &Shared<'_>) -> Error {
        shared.error(ErrorKind::Corrupt, self.position(), reason)
    }
}
