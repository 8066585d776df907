//! Files of every accepted type, mistyped ones, and ones that are of several types at once.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00;";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0";
const WEBP: &[u8] = b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0";
const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0";
const PDF: &[u8] = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n";
const ASCII_PDF: &[u8] = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n";
const MP3_TAGGED: &[u8] = b"ID3\x04\0\0\0\0\0\x23TSSE\0\0\0\x0f";
const MP3_FRAME: &[u8] = b"\xff\xfb\x90\x64\0\0\0\0\0\0\0\0";
const MP3_LOW_RATE: &[u8] = b"\xff\xf3\x48\xc4\0\0\0\0\0\0\0\0";
const OPUS: &[u8] = b"OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\x13OpusHead\x01\x02";
const VORBIS: &[u8] = b"OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\x1e\x01vorbis\0\0";
const THEORA: &[u8] =
    b"OggS\0\x02\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x01\x2a\x80theora\x03\x02";
const FLAC: &[u8] = b"fLaC\0\0\0\x22\x10\0\x10\0";
const M4A: &[u8] = b"\0\0\0\x20ftypM4A \0\0\0\0M4A mp42isom\0\0\0\0";
const MP4: &[u8] = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41";
const MOV: &[u8] = b"\0\0\0\x14ftypqt  \0\0\x02\0qt  \0\0\0\x08wide";
const HEIC: &[u8] = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
const AVI: &[u8] = b"RIFF\x24\0\0\0AVI LIST\x10\0\0\0hdrl";
const ZIP: &[u8] = b"PK\x03\x04\x14\0\0\0\x08\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0a.txt";
const DOCX: &[u8] =
    b"PK\x03\x04\x14\0\x06\0\x08\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\x08\x02[Content_Types].xml";
const XLS: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0\0\0\0\0\0\0";
const EXE: &[u8] = b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0";
const UTF_16_LE: &[u8] = b"\xff\xfeh\0e\0l\0l\0o\0";
const UTF_16_BE: &[u8] = b"\xfe\xff\0h\0e\0l\0l\0o";
const SVG: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";

fn webm(document_type: &[u8]) -> Vec<u8> {
    let mut file = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04".to_vec();
    file.extend(b"\x42\x82");
    file.push(0x80 | u8::try_from(document_type.len()).unwrap());
    file.extend(document_type);
    file.resize(400, 0x11);
    file
}

/// Judges a file that arrives in chunks of this size.
fn judge_chunks(
    size: usize,
    declared: &str,
    name: &str,
    content: &[u8],
) -> Result<&'static str, FileRefusal> {
    let name = FileName::new(name);
    let mut judge = TypeJudge::new(Some(declared), name.as_ref());
    for chunk in content.chunks(size) {
        judge.push(chunk);
        judge.push(b"");
    }
    assert!(judge.head.len() <= HEAD_BYTES);
    let judged = judge.finish(&AcceptedTypes::default())?;
    let known = MediaType::ALL.iter().find(|it| **it == judged);
    Ok(known.unwrap().as_str())
}

/// Judges a file, which must not depend on its chunks.
fn judge(declared: &str, name: &str, content: &[u8]) -> Result<&'static str, FileRefusal> {
    let judged = judge_chunks(usize::MAX, declared, name, content);
    for size in [1, 2, 3, 7, 1000] {
        assert_eq!(
            judge_chunks(size, declared, name, content),
            judged,
            "{size}"
        );
    }
    judged
}

fn other(found: &'static str) -> FileRefusal {
    FileRefusal::NotAccepted(found.into())
}

#[rstest]
#[case("image/png", "a.png", PNG, "image/png")]
#[case("image/jpeg", "a.jpg", JPEG, "image/jpeg")]
#[case("image/gif", "a.gif", GIF, "image/gif")]
#[case("image/webp", "a.webp", WEBP, "image/webp")]
#[case("application/pdf", "a.pdf", PDF, "application/pdf")]
#[case("audio/mpeg", "a.mp3", MP3_TAGGED, "audio/mpeg")]
#[case("audio/mp3", "a.mp3", MP3_FRAME, "audio/mpeg")]
#[case("", "speech", MP3_LOW_RATE, "audio/mpeg")]
#[case("audio/x-wav", "a.wav", WAV, "audio/wav")]
#[case("audio/ogg; codecs=opus", "a.ogg", OPUS, "audio/ogg")]
#[case("application/ogg", "a.oga", VORBIS, "audio/ogg")]
#[case("audio/flac", "a.flac", FLAC, "audio/flac")]
#[case("audio/mp4", "a.m4a", M4A, "audio/mp4")]
#[case("audio/x-m4a", "a.m4a", M4A, "audio/mp4")]
// Sound by its brand, whatever is declared.
#[case("", "memo", M4A, "audio/mp4")]
// A container with or without pictures: sound when declared so.
#[case("Audio/MP4", "a.mp4", MP4, "audio/mp4")]
#[case("audio/webm", "a.mp4", MP4, "audio/mp4")]
// The content wins over the declaration, also over that of text.
#[case("image/png", "a.png", JPEG, "image/jpeg")]
#[case("text/plain", "a.txt", PNG, "image/png")]
#[case("text/html", "a.html", GIF, "image/gif")]
#[case("application/json", "a.json", PDF, "application/pdf")]
#[case("text/plain", "a.txt", ASCII_PDF, "application/pdf")]
#[case("text/csv", "a.csv", WAV, "audio/wav")]
#[case("application/octet-stream", "a.md", JPEG, "image/jpeg")]
#[case("image/svg+xml", "a.svg", WEBP, "image/webp")]
#[case("", "", PNG, "image/png")]
fn a_binary_file_has_the_type_of_its_content(
    #[case] declared: &str,
    #[case] name: &str,
    #[case] content: &[u8],
    #[case] expected: &str,
) {
    assert_eq!(judge(declared, name, content), Ok(expected));
}

#[rstest]
#[case("text/plain", "a", b"hello", "text/plain")]
#[case("Text/Plain; charset=utf-8", "a.md", b"hello", "text/plain")]
#[case("text/markdown", "a", b"# Title", "text/markdown")]
#[case("text/csv", "a", b"a,b\n1,2\n", "text/csv")]
#[case("application/json", "a", b"{\"a\": 1}", "application/json")]
// The text is not parsed.
#[case("application/json", "a", b"{", "application/json")]
#[case("", "notes.TXT", b"hello", "text/plain")]
#[case("", "README.md", b"# Title", "text/markdown")]
#[case("application/octet-stream", "a.json", b"[]", "application/json")]
#[case("application/vnd.ms-excel", "orders.csv", b"a;b\r\n", "text/csv")]
#[case("application/vnd.ms-excel; x=y", "a.markdown", b"a", "text/markdown")]
#[case("text/plain", "a", "\u{feff}grüße 👩‍🔬".as_bytes(), "text/plain")]
#[case("text/plain", "a", b" \n", "text/plain")]
// Text is text, whatever a program may see in it.
#[case("text/plain", "a", b"MZ is a country code, BM a town", "text/plain")]
#[case("text/plain", "a", b"GIF89a is a format", "text/plain")]
#[case("text/plain", "a", b"ID3 tags", "text/plain")]
#[case("text/plain", "a.sh", b"#!/bin/sh\nrm -rf /\n", "text/plain")]
#[case("text/plain", "a", b"GIF89a/*<html>*/=1;alert(1)", "text/plain")]
#[case("text/plain", "a", b"see %PDF-1.7", "text/plain")]
#[case("text/csv", "a", b"<none>,1\n", "text/csv")]
#[case("text/markdown", "a", b"<https://shop.example/a>", "text/markdown")]
#[case("text/plain", "a", b"<john> hello", "text/plain")]
#[case("text/plain", "a", b"a < b and <b>bold</b>", "text/plain")]
#[case("text/plain", "a", b"<", "text/plain")]
#[case("text/plain", "a", b"< html>", "text/plain")]
#[case("text/markdown", "a", b"**<svg onload=alert(1)>**", "text/markdown")]
fn a_valid_text_has_the_type_that_is_declared_or_named(
    #[case] declared: &str,
    #[case] name: &str,
    #[case] content: &[u8],
    #[case] expected: &str,
) {
    assert_eq!(judge(declared, name, content), Ok(expected));
}

#[rstest]
#[case(b"<!DOCTYPE html><p>", other("text/html"))]
#[case(b"<!doctype  svg>", FileRefusal::Markup)]
#[case(b"  \r\n\t<HtMl lang=en>", other("text/html"))]
#[case(b"\xef\xbb\xbf<html>", FileRefusal::Markup)]
#[case(
    b"\xef\xbb\xbf \xef\xbb\xbf\n<script>alert(1)</script>",
    FileRefusal::Markup
)]
#[case(b"<script\nsrc=x>", FileRefusal::Markup)]
#[case(b"<img/src=x onerror=alert(1)>", FileRefusal::Markup)]
#[case(b"<!-- a comment --><svg>", other("text/html"))]
#[case(b"<?xml version=\"1.0\"?><svg/>", other("text/xml"))]
#[case(SVG, FileRefusal::Markup)]
#[case(b"<SVG/onload=alert(1)>", FileRefusal::Markup)]
#[case(
    b"<s:svg\n xmlns:s=\"http://www.w3.org/2000/svg\"/>",
    FileRefusal::Markup
)]
#[case(b"<feed xmlns=\"http://www.w3.org/2005/Atom\">", FileRefusal::Markup)]
#[case(b"\xef\xbb\xbf%PDF-1.7\n1 0 obj", FileRefusal::Markup)]
#[case(b"\n%PDF-1.7\n1 0 obj", FileRefusal::Markup)]
fn a_text_must_not_begin_as_a_document(#[case] content: &[u8], #[case] refusal: FileRefusal) {
    for (declared, name) in [("text/plain", "a"), ("application/octet-stream", "a.json")] {
        assert_eq!(judge(declared, name, content), Err(refusal.clone()));
    }
}

#[rstest]
#[case("text/plain", "a.txt", UTF_16_LE, FileRefusal::NotUtf8)]
#[case("text/plain", "a.txt", UTF_16_BE, FileRefusal::NotUtf8)]
#[case("text/plain", "a.txt", b"a\0b", FileRefusal::NotUtf8)]
#[case("text/plain", "a.txt", b"caf\xe9", FileRefusal::NotUtf8)]
#[case("text/plain", "a.txt", b"half a euro \xe2\x82", FileRefusal::NotUtf8)]
#[case("text/plain", "a.txt", b"\xc0\xaf", FileRefusal::NotUtf8)]
#[case(
    "text/plain",
    "a.txt",
    b"surrogate \xed\xa0\x80 end",
    FileRefusal::NotUtf8
)]
#[case("application/json", "a", b"{\"a\": \"\xff\"}", FileRefusal::NotUtf8)]
#[case("text/csv", "a.csv", XLS, other("application/msword"))]
#[case("application/vnd.ms-excel", "a.xls", XLS, other("application/msword"))]
#[case(
    "text/plain",
    "a.txt",
    EXE,
    other("application/vnd.microsoft.portable-executable")
)]
#[case(
    "image/png",
    "a.png",
    EXE,
    other("application/vnd.microsoft.portable-executable")
)]
// Text that is neither declared nor named as such.
#[case("", "a", b"hello", FileRefusal::Unknown)]
#[case(
    "application/octet-stream",
    "a.rs",
    b"fn main() {}",
    FileRefusal::Unknown
)]
#[case(
    "application/x-www-form-urlencoded",
    "a.txt",
    b"hello",
    FileRefusal::Unknown
)]
#[case("text/html", "a.txt", b"hello", FileRefusal::Unknown)]
#[case("image/svg+xml", "a.svg", SVG, FileRefusal::Unknown)]
#[case("text/html", "a.html", b"<html><body>", other("text/html"))]
#[case("image/png", "a.png", b"hello", FileRefusal::Unknown)]
#[case("image/png", "a.txt", b"hello", FileRefusal::Unknown)]
// Files that are of several types, or begin like an accepted one.
#[case("image/gif", "a.gif", b"GIF is a format", FileRefusal::Unknown)]
#[case("image/png", "a.png", b"\x89PNG and a half", FileRefusal::Unknown)]
#[case(
    "image/webp",
    "a.webp",
    b"12345678WEBP is no RIFF",
    FileRefusal::Unknown
)]
#[case(
    "application/pdf",
    "a.pdf",
    b"%PDF without a version",
    FileRefusal::Unknown
)]
#[case(
    "application/pdf",
    "a.pdf",
    b"\0\0junk %PDF-1.7\n1 0 obj",
    FileRefusal::Unknown
)]
#[case(
    "application/pdf",
    "a.pdf",
    b" %PDF-1.7\n1 0 obj",
    FileRefusal::Unknown
)]
#[case(
    "audio/mpeg",
    "a.mp3",
    b"\xff\xfb\xff\xff\xff\xff",
    FileRefusal::Unknown
)]
#[case("audio/mpeg", "a.mp3", b"\xff\xfb\x9c\x64\0\0", FileRefusal::Unknown)]
#[case("audio/wav", "a.wav", AVI, other("video/x-msvideo"))]
#[case(
    "image/webp",
    "a.webp",
    b"RIFF\x24\0\0\0ACONLIST\x10\0\0\0",
    FileRefusal::Unknown
)]
#[case("audio/ogg", "a.ogg", THEORA, other("video/ogg"))]
#[case("audio/mp4", "a.m4a", MOV, other("video/quicktime"))]
#[case("audio/mp4", "a.m4a", HEIC, other("image/heif"))]
#[case(
    "audio/mp4",
    "a.m4a",
    b"M4A \0\0\0\0\0\0\0\0\0\0\0",
    FileRefusal::Unknown
)]
#[case("video/mp4", "a.mp4", MP4, FileRefusal::Video)]
#[case("", "a.m4a", MP4, FileRefusal::Video)]
#[case("audio", "a.m4a", MP4, FileRefusal::Video)]
#[case("image/png", "a.png", HEIC, other("image/heif"))]
#[case("application/pdf", "a.zip", ZIP, other("application/zip"))]
#[case("text/plain", "a.txt", ZIP, other("application/zip"))]
#[case("", "a.sh", b"#!/bin/sh\n", other("text/x-shellscript"))]
// Nothing at all.
#[case("text/plain", "a.txt", b"", FileRefusal::Empty)]
#[case("image/png", "a.png", b"", FileRefusal::Empty)]
fn everything_else_is_refused(
    #[case] declared: &str,
    #[case] name: &str,
    #[case] content: &[u8],
    #[case] refusal: FileRefusal,
) {
    assert_eq!(judge(declared, name, content), Err(refusal));
}

#[test]
fn office_documents_are_refused() {
    let judged = judge("text/plain", "a.docx", DOCX);
    assert!(
        matches!(judged, Err(FileRefusal::NotAccepted(_))),
        "{judged:?}"
    );
}

#[test]
fn a_webm_container_is_sound_when_declared_so() {
    let file = webm(b"webm");
    assert_eq!(
        judge("audio/webm;codecs=opus", "a", &file),
        Ok("audio/webm")
    );
    assert_eq!(judge("video/webm", "a", &file), Err(FileRefusal::Video));
    assert_eq!(judge("", "a.webm", &file), Err(FileRefusal::Video));
    let matroska = judge("audio/webm", "a", &webm(b"matroska"));
    assert_eq!(matroska, Err(other("video/x-matroska")));
}

#[test]
fn what_makes_a_text_invalid_is_found_anywhere() {
    let text = "ä€👩".repeat(50_000).into_bytes();
    assert_eq!(judge("text/plain", "a", &text), Ok("text/plain"));
    for at in [1, 5000, text.len() - 1] {
        for byte in [0, 0xff] {
            let mut changed = text.clone();
            changed[at] = byte;
            let judged = judge("text/plain", "a", &changed);
            assert_eq!(judged, Err(FileRefusal::NotUtf8), "{byte} at {at}");
        }
    }
}

#[test]
fn markup_is_found_behind_any_white_space() {
    let mut text = vec![b' '; 100_000];
    text.extend(b"<svg onload=alert(1)>");
    assert_eq!(judge("text/plain", "a", &text), Err(FileRefusal::Markup));
}

#[test]
fn the_rest_of_a_binary_file_is_not_looked_at() {
    let mut script = GIF.to_vec();
    script.resize(HEAD_BYTES, b' ');
    script.extend(b"<script>alert(1)</script>%PDF-1.7 PK\x03\x04");
    assert_eq!(judge("image/gif", "a.gif", &script), Ok("image/gif"));
}

#[test]
fn a_setting_can_refuse_a_type() {
    let accepted: AcceptedTypes = "image/png".parse().unwrap();
    for (content, expected) in [
        (PNG, Ok(MediaType::Png)),
        (GIF, Err(other("image/gif"))),
        (b"hello", Err(other("text/plain"))),
    ] {
        let mut judge = TypeJudge::new(Some("text/plain"), None);
        judge.push(content);
        assert_eq!(judge.finish(&accepted), expected);
    }
}

proptest! {
    /// A file that passes as text is text; and chunks change nothing.
    #[test]
    fn accepted_texts_are_valid(
        content in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select("a<€>\u{feff}".as_bytes())],
            1..40,
        ),
        size in 1_usize..9,
    ) {
        let judged = judge_chunks(usize::MAX, "text/plain", "a", &content);
        prop_assert_eq!(&judge_chunks(size, "text/plain", "a", &content), &judged);
        let is_valid = std::str::from_utf8(&content).is_ok_and(|it| !it.contains('\0'));
        prop_assert!(judged != Ok("text/plain") || is_valid);
        prop_assert!(judged != Err(FileRefusal::NotUtf8) || !is_valid);
    }
}
