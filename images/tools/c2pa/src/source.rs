//! A source as a stream that can be read anywhere, with little memory: small ranges while the file is looked through, long ones while
//! it is read straight on. A failure is remembered: what the library makes of a file that broke off must not pass for a verdict.

use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use super::http::{self, Address, Body, Connection};

/// Asked for after a jump.
const FIRST: u64 = 64 * 1024;
/// Asked for at most: a body is read as it comes, so this is no memory.
const MOST: u64 = 64 * 1024 * 1024;
/// What is rather read and dropped than asked for anew.
const SKIP: u64 = 128 * 1024;
const WINDOW: usize = 64 * 1024;
/// An origin without ranges is kept in memory.
pub const MOST_UNRANGED: u64 = 128 * 1024 * 1024;

pub type Failure = Arc<Mutex<Option<String>>>;

pub enum Source {
    Ranged(Box<Ranged>),
    Whole(Cursor<Vec<u8>>),
    File(std::io::BufReader<std::fs::File>),
}

impl Source {
    pub fn open(place: &str, failure: &Failure) -> Result<Self, String> {
        if !place.contains("://") {
            let file = std::fs::File::open(place).map_err(|error| error.to_string())?;
            return Ok(Self::File(std::io::BufReader::new(file)));
        }
        let address = Address::parse(place)?;
        let (connection, answer) = http::get(None, &address, 0, FIRST).map_err(|error| format!("the source cannot be read: {error}"))?;
        let (status, range) = (answer.status, answer.range);
        let mut body = Body::new(connection, answer);
        match (status, range) {
            (206, Some((0, size))) => Ok(Self::Ranged(Box::new(Ranged::new(address, size, body, failure.clone())))),
            (200, _) => {
                let mut bytes = Vec::new();
                body.take(MOST_UNRANGED + 1).read_to_end(&mut bytes).map_err(|error| format!("the source cannot be read: {error}"))?;
                if bytes.len() as u64 > MOST_UNRANGED {
                    return Err(format!("the origin serves no ranges: of such a file at most {} MB can be checked", MOST_UNRANGED >> 20));
                }
                Ok(Self::Whole(Cursor::new(bytes)))
            }
            (416, _) => Ok(Self::Whole(Cursor::new(Vec::new()))),
            _ => {
                let mut said = Vec::new();
                let _ = body.by_ref().take(500).read_to_end(&mut said);
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                Err(if said.is_empty() { format!("the source answered {status}") } else { said })
            }
        }
    }
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Ranged(ranged) => ranged.read(out),
            Self::Whole(whole) => whole.read(out),
            Self::File(file) => file.read(out),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Ranged(ranged) => ranged.seek(to),
            Self::Whole(whole) => whole.seek(to),
            Self::File(file) => file.seek(to),
        }
    }
}

pub struct Ranged {
    address: Address,
    size: u64,
    at: u64,
    /// What comes over the connection now, and the place of its next byte.
    body: Option<(Body, u64)>,
    kept: Option<Connection>,
    /// Where the last range ended, and how long it was.
    last: (u64, u64),
    window: Vec<u8>,
    window_at: u64,
    failure: Failure,
}

impl Ranged {
    fn new(address: Address, size: u64, body: Body, failure: Failure) -> Self {
        let first = FIRST.min(size);
        Self { address, size, at: 0, body: Some((body, 0)), kept: None, last: (first, first), window: Vec::new(), window_at: 0, failure }
    }

    /// The body, with its next byte at `at`.
    fn body_at(&mut self, at: u64, wanted: u64) -> io::Result<&mut Body> {
        if let Some((mut body, place)) = self.body.take() {
            let left = body.left().unwrap_or(0);
            if at >= place && at - place < left && at - place <= SKIP {
                io::copy(&mut body.by_ref().take(at - place), &mut io::sink())?;
                return Ok(&mut self.body.insert((body, at)).0);
            }
            if left <= SKIP {
                io::copy(&mut body, &mut io::sink())?;
                self.kept = body.finished();
            }
        }
        let straight = at == self.last.0;
        let step = if straight { (self.last.1 * 4).min(MOST) } else { FIRST };
        let to = (at + step.max(wanted.min(MOST))).min(self.size);
        let (connection, answer) = http::get(self.kept.take(), &self.address, at, to)?;
        if answer.status != 206 || answer.range != Some((at, self.size)) {
            return Err(io::Error::other(format!("the source changed while it was read (status {})", answer.status)));
        }
        self.last = (to, to - at);
        Ok(&mut self.body.insert((Body::new(connection, answer), at)).0)
    }

    /// At least one byte from `at` on.
    fn fetch(&mut self, at: u64, out: &mut [u8], wanted: u64) -> io::Result<usize> {
        let read = self.body_at(at, wanted)?.read(out)?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source broke off"));
        }
        if let Some((body, place)) = &mut self.body {
            *place += read as u64;
            if body.left() == Some(0) {
                self.kept = self.body.take().and_then(|(body, _)| body.finished());
            }
        }
        Ok(read)
    }

    fn read_on(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at >= self.size || out.is_empty() {
            return Ok(0);
        }
        let in_window = self.at.checked_sub(self.window_at).filter(|offset| *offset < self.window.len() as u64);
        if in_window.is_none() && out.len() >= WINDOW {
            let wanted = out.len() as u64;
            return self.fetch(self.at, out, wanted);
        }
        let offset = match in_window {
            Some(offset) => offset as usize,
            None => {
                let mut window = std::mem::take(&mut self.window);
                window.resize(WINDOW, 0);
                let read = self.fetch(self.at, &mut window, WINDOW as u64)?;
                window.truncate(read);
                self.window = window;
                self.window_at = self.at;
                0
            }
        };
        let part = &self.window[offset..];
        let read = part.len().min(out.len());
        out[..read].copy_from_slice(&part[..read]);
        Ok(read)
    }
}

impl Read for Ranged {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.read_on(out) {
            Ok(read) => {
                self.at += read as u64;
                Ok(read)
            }
            Err(error) => {
                self.failure.lock().unwrap().get_or_insert_with(|| error.to_string());
                Err(error)
            }
        }
    }
}

impl Seek for Ranged {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "seek before the beginning"))?;
        Ok(self.at)
    }
}
