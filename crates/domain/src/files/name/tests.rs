use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn read(header: &[u8]) -> Option<String> {
    FileName::from_disposition(header).map(|name| name.to_string())
}

#[rstest]
#[case("attachment; filename=plain.txt", "plain.txt")]
#[case("attachment; filename=\"my file.txt\"", "my file.txt")]
#[case("ATTACHMENT; FileName = \"a.txt\"", "a.txt")]
#[case("form-data; name=\"file\"; filename=\"a.txt\"", "a.txt")]
#[case("form-data; name=\"filename=b.exe\"; filename=\"a.txt\"", "a.txt")]
#[case("filename=a.txt", "a.txt")]
#[case("attachment; filename=\"a;b.txt\"; size=3", "a;b.txt")]
#[case("attachment; filename=\"a=b.txt\"", "a=b.txt")]
#[case("attachment; filename=\"say \\\"hi\\\".txt\"", "say \"hi\".txt")]
#[case("attachment; filename=first.txt; filename=second.txt", "first.txt")]
#[case("inline;;; filename=a.txt;", "a.txt")]
#[case("attachment; filename=\"grüße.txt\"", "grüße.txt")]
fn the_name_is_that_of_filename(#[case] header: &str, #[case] name: &str) {
    assert_eq!(read(header.as_bytes()).as_deref(), Some(name));
}

#[rstest]
#[case("attachment; filename=a.txt; filename*=UTF-8''%e2%82%ac.txt", "€.txt")]
#[case(
    "attachment; filename*=utf-8'en'na%C3%AFve%20file.txt",
    "naïve file.txt"
)]
#[case("attachment; filename*=UTF-8''%E2%82%AC.txt; filename=a.txt", "€.txt")]
#[case("attachment; filename*=iso-8859-1'de'%FCber.txt", "über.txt")]
#[case("attachment; filename*=\"UTF-8''quoted%21.txt\"", "quoted!.txt")]
#[case("attachment; filename*=UTF-8''it's.txt", "it's.txt")]
#[case("attachment; filename*=UTF-8''a%2Fb%5Cc.txt", "c.txt")]
#[case("attachment; filename*=UTF-8''a%00b%0d%0A.txt", "ab.txt")]
// Malformed, empty, or in another character set: ignored.
#[case("attachment; filename*=UTF-8''%zz.txt; filename=a.txt", "a.txt")]
#[case("attachment; filename*=UTF-8''%E2%82; filename=a.txt", "a.txt")]
#[case("attachment; filename*=UTF-8''a%2; filename=a.txt", "a.txt")]
#[case("attachment; filename*=UTF-16''%00a; filename=a.txt", "a.txt")]
#[case("attachment; filename*=plain.txt; filename=a.txt", "a.txt")]
#[case("attachment; filename*=UTF-8''; filename=a.txt", "a.txt")]
#[case("attachment; filename*=UTF-8''%2E%2E; filename=a.txt", "a.txt")]
#[case("attachment; filename*=UTF-8''€.txt; filename=a.txt", "a.txt")]
fn the_extended_name_comes_first(#[case] header: &str, #[case] name: &str) {
    assert_eq!(read(header.as_bytes()).as_deref(), Some(name));
}

#[rstest]
#[case("attachment; filename=my file.txt", "my file.txt")]
#[case("attachment; filename=\"open.txt", "open.txt")]
#[case("attachment; filename=\"open.txt; size=3", "open.txt")]
#[case("attachment; filename=\"open.txt; filename*=UTF-8''b.txt", "b.txt")]
#[case("attachment; filename=\"a.txt\" rest; size=3", "a.txt")]
#[case(
    "attachment; filename=\"the \"best\" one.txt\"",
    "the \"best\" one.txt"
)]
#[case("attachment; filename='single.txt'", "'single.txt'")]
#[case("attachment; filename=a\"b.txt", "a\"b.txt")]
fn broken_quoting_is_understood(#[case] header: &str, #[case] name: &str) {
    assert_eq!(read(header.as_bytes()).as_deref(), Some(name));
}

#[rstest]
#[case("attachment; filename=\"/etc/passwd\"", "passwd")]
#[case("attachment; filename=\"../../secret.txt\"", "secret.txt")]
#[case("attachment; filename=\"C:\\Users\\ada\\photo.jpg\"", "photo.jpg")]
#[case(
    "attachment; filename=\"C:\\\\Users\\\\ada\\\\photo.jpg\"",
    "photo.jpg"
)]
#[case("attachment; filename=\"a/b\\c/d.txt\"", "d.txt")]
#[case("attachment; filename=\"a\\b/c\\d.txt\"", "d.txt")]
#[case("attachment; filename=.htaccess", ".htaccess")]
#[case("attachment; filename=\"  padded.txt \"", "padded.txt")]
#[case("attachment; filename=\"a\u{202e}gpj.exe\"", "agpj.exe")]
#[case(
    "attachment; filename=\"\u{2066}a\u{2069}\u{200f}\u{61c}.txt\"",
    "a.txt"
)]
#[case(
    "attachment; filename=\"a\u{1b}[31m\u{7f}\u{85}\u{2028}.txt\"",
    "a[31m.txt"
)]
#[case("attachment; filename=\"a\tb.txt\"", "ab.txt")]
#[case("attachment; filename=\"👩\u{200d}🔬.png\"", "👩\u{200d}🔬.png")]
fn a_name_is_one_harmless_segment(#[case] header: &str, #[case] name: &str) {
    assert_eq!(read(header.as_bytes()).as_deref(), Some(name));
}

#[rstest]
#[case("")]
#[case("attachment")]
#[case("attachment; filename")]
#[case("attachment; filename=")]
#[case("attachment; filename=\"\"")]
#[case("attachment; filename=\"folder/\"")]
#[case("attachment; filename=\"folder\\\\\"")]
#[case("attachment; filename=\"..\"")]
#[case("attachment; filename=\"a/.\"")]
#[case("attachment; filename=\" \u{200b}\u{202e} \"")]
#[case("attachment; name=a.txt")]
#[case("attachment; filename*0=\"a\"; filename*1=\".txt\"")]
#[case("=;=\";\"=")]
fn a_header_may_have_no_name(#[case] header: &str) {
    assert_eq!(read(header.as_bytes()), None);
}

#[test]
fn a_header_that_is_not_utf_8_is_latin_1() {
    let name = read(b"attachment; filename=\"gr\xfc\xdfe.txt\"");
    assert_eq!(name.as_deref(), Some("grüße.txt"));
}

#[test]
fn a_long_name_is_cut_before_its_extension() {
    let cut = |name: &str| FileName::new(name).unwrap().to_string();
    let long = "ä".repeat(300);
    assert_eq!(
        cut(&format!("{long}.png")),
        format!("{}.png", "ä".repeat(251))
    );
    assert_eq!(cut(&long), "ä".repeat(255));
    assert_eq!(cut(&format!("a.{long}")), format!("a.{}", "ä".repeat(253)));
    let exact = format!("{}.png", "ä".repeat(251));
    assert_eq!(cut(&exact), exact);
}

#[test]
fn a_file_without_a_name_is_named_for_its_type() {
    assert_eq!(FileName::of_type(MediaType::Jpeg).as_str(), "file.jpg");
    assert_eq!(FileName::of_type(MediaType::Markdown).as_str(), "file.md");
}

#[rstest]
#[case("a.txt", Some("txt"))]
#[case("a.tar.gz", Some("gz"))]
#[case(".json", None)]
#[case("a.", None)]
#[case("a", None)]
fn an_extension_follows_a_name(#[case] name: &str, #[case] extension: Option<&str>) {
    assert_eq!(FileName::new(name).unwrap().extension(), extension);
}

proptest! {
    #[test]
    fn every_header_has_no_name_or_a_harmless_one(
        header in proptest::collection::vec(
            prop_oneof![any::<u8>(), proptest::sample::select(b"filename*=\"\\;'%UTF-8/. ".as_slice())],
            0..80,
        ),
    ) {
        let header = [b"a; filename=".as_slice(), &header].concat();
        if let Some(name) = FileName::from_disposition(&header) {
            let text = name.as_str();
            prop_assert!((1..=255).contains(&text.chars().count()));
            let is_harmless = |letter: char| !"/\\".contains(letter) && is_allowed(letter);
            prop_assert!(text.chars().all(is_harmless));
            prop_assert_eq!(FileName::new(text), Some(name.clone()));
        }
    }
}
