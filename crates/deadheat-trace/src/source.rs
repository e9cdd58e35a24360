//! Where a trace's bytes come from.
//!
//! Invariant: reading is by position, so that many streams of one file are read side by side,
//! and no part of the file is held but what a reader asked for.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// How many bytes of a pipe are kept, so that the format can be recognised.
const HEAD: usize = 1 << 16;

/// A file, a pipe, or bytes in memory.
#[derive(Debug)]
pub(crate) enum Source {
    /// A file of that many bytes.
    File(File, u64),
    /// Something that can only be read forwards: its first bytes, and how far it is read.
    Pipe(File, Vec<u8>, u64),
    /// Bytes.
    Memory(Vec<u8>),
}

impl Source {
    /// Takes a file that was just opened.
    pub(crate) fn new(mut file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        if metadata.is_file() {
            return Ok(Source::File(file, metadata.len()));
        }
        let mut head = Vec::new();
        (&mut file).take(HEAD as u64).read_to_end(&mut head)?;
        let at = head.len() as u64;
        Ok(Source::Pipe(file, head, at))
    }

    /// The size, where it is known beforehand.
    pub(crate) fn len(&self) -> Option<u64> {
        match self {
            Source::File(_, len) => Some(*len),
            Source::Pipe(..) => None,
            Source::Memory(bytes) => Some(bytes.len() as u64),
        }
    }

    /// Reads at `offset` until `out` is full or the end is reached; gives the number of bytes.
    /// A pipe must be read forwards without gaps once its first 64 KiB are passed.
    pub(crate) fn read(&mut self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            let count = match self.read_some(&mut out[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            done += count;
        }
        Ok(done)
    }

    fn read_some(&mut self, out: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Source::File(file, _) => file.read_at(out, offset),
            Source::Memory(bytes) => Ok(copy_from(bytes, out, offset)),
            Source::Pipe(_, head, _) if offset < head.len() as u64 => Ok(copy_from(head, out, offset)),
            Source::Pipe(file, _, at) if offset == *at => {
                let count = file.read(out)?;
                *at += count as u64;
                Ok(count)
            }
            Source::Pipe(..) => Err(io::Error::other("a pipe can be read only once")),
        }
    }
}

fn copy_from(bytes: &[u8], out: &mut [u8], offset: u64) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[]);
    let count = rest.len().min(out.len());
    out[..count].copy_from_slice(&rest[..count]);
    count
}
