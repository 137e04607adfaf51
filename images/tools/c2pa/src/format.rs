//! What a file is, from its bytes: names and media types of origins say little.

use std::io::{self, Read, Seek};

pub const KNOWN: &str = "JPEG, PNG, GIF, WebP, TIFF, DNG, AVIF, HEIC, HEIF, JPEG XL, SVG, PDF, MP4, MOV, M4A, AVI, WAV, MP3, FLAC";

const LOOKED_AT: usize = 4096;

pub fn detect(source: &mut (impl Read + Seek)) -> io::Result<Option<&'static str>> {
    source.rewind()?;
    let mut head = Vec::new();
    source.by_ref().take(LOOKED_AT as u64).read_to_end(&mut head)?;
    source.rewind()?;
    Ok(format_of(&head))
}

pub fn format_of(head: &[u8]) -> Option<&'static str> {
    let at = |from: usize, bytes: &[u8]| head.get(from..from + bytes.len()) == Some(bytes);
    if at(0, b"\xff\xd8\xff") {
        return Some("image/jpeg");
    }
    if at(0, b"\x89PNG\r\n\x1a\n") {
        return Some("image/png");
    }
    if at(0, b"GIF87a") || at(0, b"GIF89a") {
        return Some("image/gif");
    }
    if at(0, b"II*\0") || at(0, b"MM\0*") || at(0, b"II+\0") || at(0, b"MM\0+") {
        return Some("image/tiff");
    }
    if at(0, b"\0\0\0\x0cJXL \r\n\x87\n") {
        return Some("image/jxl");
    }
    if at(0, b"RIFF") {
        return match head.get(8..12)? {
            b"WEBP" => Some("image/webp"),
            b"WAVE" => Some("audio/wav"),
            b"AVI " => Some("video/avi"),
            _ => None,
        };
    }
    if at(4, b"ftyp") {
        return Some(brand_of(head));
    }
    // Files of QuickTime's first years have no ftyp.
    if [b"moov", b"mdat", b"free", b"wide", b"skip"].iter().any(|name| at(4, *name)) {
        return Some("video/quicktime");
    }
    if at(0, b"fLaC") {
        return Some("audio/flac");
    }
    if at(0, b"ID3") || is_mpeg_audio(head) {
        return Some("audio/mpeg");
    }
    if head.windows(5).take(1024).any(|part| part == b"%PDF-") {
        return Some("application/pdf");
    }
    is_svg(head).then_some("image/svg+xml")
}

fn brand_of(head: &[u8]) -> &'static str {
    let size = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let brands = head.get(8..size.clamp(8, head.len())).unwrap_or(&[]);
    let major = brands.get(..4).unwrap_or(&[]);
    match major {
        b"avif" | b"avis" => return "image/avif",
        b"heic" | b"heix" | b"hevc" | b"hevx" => return "image/heic",
        b"mif1" | b"msf1" => {}
        b"qt  " => return "video/quicktime",
        b"M4A " | b"M4B " => return "audio/mp4",
        _ => return "video/mp4",
    }
    let has = |name: &[u8]| brands.chunks(4).skip(2).any(|brand| brand == name);
    if has(b"avif") {
        "image/avif"
    } else if has(b"heic") || has(b"heix") {
        "image/heic"
    } else {
        "image/heif"
    }
}

/// A frame header: its sync word, and no reserved version, layer, bit rate or sample rate.
fn is_mpeg_audio(head: &[u8]) -> bool {
    matches!(head, [0xff, second, third, ..] if second & 0xe0 == 0xe0 && second & 0x18 != 0x08 && second & 0x06 != 0 && third & 0xf0 != 0xf0 && third & 0x0c != 0x0c)
}

fn is_svg(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let lower = text.to_ascii_lowercase();
    text.starts_with(b"<") && !lower.starts_with(b"<!doctype html") && lower.windows(4).any(|part| part == b"<svg")
}

#[cfg(test)]
mod tests {
    use super::format_of;

    #[test]
    fn names_what_it_knows() {
        let cases: &[(&[u8], Option<&str>)] = &[
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"RIFF\0\0\0\0WEBP", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", Some("audio/wav")),
            (b"RIFF\0\0\0\0junk", None),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", Some("image/heic")),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1miaf", Some("image/heif")),
            (b"\0\0\0\x14ftypM4A \0\0\0\0M4A ", Some("audio/mp4")),
            (b"\0\0\0\x00ftyp", Some("video/mp4")),
            (b"\xff\xfb\x90\x00", Some("audio/mpeg")),
            (b"\xff\xff\xff\xff", None),
            (b"junk\n%PDF-1.7", Some("application/pdf")),
            (b"\xef\xbb\xbf<?xml version=\"1.0\"?><svg/>", Some("image/svg+xml")),
            (b"<!DOCTYPE html><svg/>", None),
            (b"", None),
            (b"RIFF", None),
            (b"\0\0\0\x08ftyp", Some("video/mp4")),
        ];
        for (head, expected) in cases {
            assert_eq!(format_of(head), *expected, "{head:?}");
        }
    }
}
