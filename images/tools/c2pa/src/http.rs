//! As much of an HTTP client as the source proxy on 127.0.0.1 needs: GET by ranges over one kept connection. No names are resolved,
//! nothing is followed: an address that is no IP address is refused.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const CONNECT: Duration = Duration::from_secs(10);
/// The proxy gives up on a silent origin after 20 s; this is for a proxy that says nothing any more.
const SILENCE: Duration = Duration::from_secs(60);
const MOST_HEAD: usize = 32 * 1024;

pub struct Address {
    socket: SocketAddr,
    authority: String,
    path: String,
}

impl Address {
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").ok_or("the address must begin with http://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let with_port = if authority.rsplit(']').next().is_some_and(|end| end.contains(':')) { authority.to_owned() } else { format!("{authority}:80") };
        let socket = with_port.parse().map_err(|_| "the address must name an IP address")?;
        if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err("the address holds spaces or control characters".into());
        }
        let path = if path.is_empty() { "/" } else { path };
        Ok(Self { socket, authority: authority.to_owned(), path: path.split('#').next().unwrap_or("/").to_owned() })
    }
}

pub struct Answer {
    pub status: u16,
    /// First byte and size of the whole, of a 206.
    pub range: Option<(u64, u64)>,
    framing: Framing,
}

enum Framing {
    Length(u64),
    Chunked { left: u64, ended: bool },
    UntilClosed,
}

pub struct Connection {
    stream: BufReader<TcpStream>,
    used: bool,
}

impl Connection {
    fn open(address: &Address) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address.socket, CONNECT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream), used: false })
    }

    fn ask(&mut self, address: &Address, from: u64, to: u64) -> io::Result<Answer> {
        let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\nRange: bytes={from}-{}\r\nAccept-Encoding: identity\r\n\r\n", address.path, address.authority, to - 1);
        self.stream.get_mut().write_all(request.as_bytes())?;
        let answer = read_head(&mut self.stream)?;
        self.used = true;
        Ok(answer)
    }
}

/// Over the kept connection where there is one; one that was closed meanwhile is replaced.
pub fn get(kept: Option<Connection>, address: &Address, from: u64, to: u64) -> io::Result<(Connection, Answer)> {
    if let Some(mut connection) = kept.filter(|connection| connection.used)
        && let Ok(answer) = connection.ask(address, from, to)
    {
        return Ok((connection, answer));
    }
    let mut connection = Connection::open(address)?;
    let answer = connection.ask(address, from, to)?;
    Ok((connection, answer))
}

fn broken(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

fn line(stream: &mut impl BufRead, room: &mut usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    let read = stream.take(*room as u64).read_until(b'\n', &mut bytes)?;
    *room -= read;
    if bytes.last() != Some(&b'\n') {
        return Err(broken("the answer broke off, or its head is too long"));
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn read_head(stream: &mut impl BufRead) -> io::Result<Answer> {
    let mut room = MOST_HEAD;
    let first = line(stream, &mut room)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok()).ok_or_else(|| broken("the answer is no HTTP"))?;
    let (mut range, mut framing) = (None, Framing::UntilClosed);
    loop {
        let header = line(stream, &mut room)?;
        if header.is_empty() {
            return Ok(Answer { status, range, framing });
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => framing = Framing::Length(value.parse().map_err(|_| broken("the answer has a bad length"))?),
            "transfer-encoding" => framing = Framing::Chunked { left: 0, ended: false },
            "content-range" => range = value.strip_prefix("bytes ").and_then(|part| part.split_once('/')).and_then(|(part, size)| Some((part.split_once('-')?.0.parse().ok()?, size.parse().ok()?))),
            _ => {}
        }
    }
}

/// What comes after the head.
pub struct Body {
    connection: Connection,
    framing: Framing,
}

impl Body {
    pub fn new(connection: Connection, answer: Answer) -> Self {
        Self { connection, framing: answer.framing }
    }

    pub fn left(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(left) => Some(left),
            _ => None,
        }
    }

    /// The connection, for the next request: only where this body was read to its end.
    pub fn finished(self) -> Option<Connection> {
        (self.left() == Some(0)).then_some(self.connection)
    }

    fn next_chunk(&mut self) -> io::Result<u64> {
        let mut room = 1024;
        let mut size = line(&mut self.connection.stream, &mut room)?;
        // The line end of the chunk before.
        if size.is_empty() {
            size = line(&mut self.connection.stream, &mut room)?;
        }
        u64::from_str_radix(size.split(';').next().unwrap_or("").trim(), 16).map_err(|_| broken("the answer has a bad chunk"))
    }
}

impl Read for Body {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Framing::Chunked { left: 0, ended: false } = self.framing {
            let left = self.next_chunk()?;
            self.framing = Framing::Chunked { left, ended: left == 0 };
        }
        let most = match self.framing {
            Framing::Length(left) | Framing::Chunked { left, .. } => left.min(out.len() as u64) as usize,
            Framing::UntilClosed => out.len(),
        };
        if most == 0 {
            return Ok(0);
        }
        let read = self.connection.stream.read(&mut out[..most])?;
        match &mut self.framing {
            Framing::Length(left) | Framing::Chunked { left, .. } => {
                if read == 0 {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the source broke off"));
                }
                *left -= read as u64;
            }
            Framing::UntilClosed => {}
        }
        Ok(read)
    }
}
