use rstest::rstest;
use uuid::Uuid;

use super::*;

#[rstest]
#[case("Where is my PARCEL?", "where is my parcel")]
#[case("don't e-mail a_b 3,5", "don t e mail a b 3 5")]
#[case("Straße ÀÉ ﬁ İ", "straße àé ﬁ i̇")]
#[case("cafe\u{301} हिन्दी", "cafe\u{301} हिन दी")]
#[case("ΣΟΦΟΣ σοφος", "σοφοσ σοφοσ")]
#[case("東京タワーへ行く", "東 京 タ ワ ー へ 行 く")]
#[case("東京tower2", "東 京 tower2")]
#[case("한국어 ภาษา", "한 국 어 ภ า ษ า")]
#[case("  \n\0 …!?", "")]
fn a_text_is_split_into_words(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(indexed(text), expected);
}

#[test]
fn long_words_are_cut() {
    let long = "x".repeat(1_000);
    assert_eq!(indexed(&long).len(), MAX_WORD);
    assert_eq!(SearchPhrases::parse(&long).phrases()[0][0].len(), MAX_WORD);
}

#[test]
fn the_beginning_of_a_very_long_text_is_indexed() {
    let long = "é".repeat(MAX_INDEXED);
    assert_eq!(indexed(&format!("a {long}")).split(' ').next(), Some("a"));
    assert!(indexed(&"ab ".repeat(MAX_INDEXED)).len() <= MAX_INDEXED);
}

#[test]
fn each_word_of_a_search_is_a_phrase_and_operators_are_text() {
    let parsed = SearchPhrases::parse("Broken e-mail 東京 AND \"x\" -y * ()");
    let phrases: Vec<_> = parsed.phrases().iter().map(|it| it.join(" ")).collect();
    assert_eq!(phrases, ["broken", "e mail", "東 京", "and", "x", "y"]);
    assert_eq!(SearchPhrases::parse("ok OK ok! no").phrases().len(), 2);
    assert!(SearchPhrases::parse(" * ?").phrases().is_empty());
}

#[rstest]
#[case("Where is my parcel?", "Where is my parcel?")]
#[case("line 1\nparcel\tline 2", "line 1 parcel line 2")]
fn a_short_text_is_its_own_snippet(#[case] text: &str, #[case] expected: &str) {
    let snippet = SearchPhrases::parse("parcel").snippet(text);
    assert_eq!(snippet.as_deref(), Some(expected));
}

#[test]
fn a_snippet_is_the_part_around_the_first_match() {
    let text = format!("{} My PARCEL 📦 {}", "a ".repeat(500), "b ".repeat(500));
    let snippet = SearchPhrases::parse("b parcel").snippet(&text).unwrap();
    assert!(
        snippet.starts_with("…") && snippet.ends_with('…'),
        "{snippet}"
    );
    assert!(snippet.contains("a  My PARCEL 📦 b"), "{snippet}");
    assert!((190..=MAX_SNIPPET).contains(&snippet.chars().count()));
    let first = SearchPhrases::parse("a").snippet(&text).unwrap();
    assert!(first.starts_with("a a") && first.ends_with('…'));
}

#[test]
fn a_text_without_one_of_the_phrases_has_no_snippet() {
    for text in ["a parcel", "broken", "", "mail e parcel broken"] {
        assert_eq!(
            SearchPhrases::parse("broken parcel e-mail").snippet(text),
            None,
            "{text}"
        );
    }
    assert_eq!(SearchPhrases::parse("?").snippet("?"), None);
}

#[test]
fn scopes_of_different_things_differ_and_name_nobody() {
    let (one, two) = ("one".parse().unwrap(), "two".parse().unwrap());
    let agent = AgentId::new(Uuid::nil());
    let scopes = [
        SearchScope::tenant(&one),
        SearchScope::tenant(&two),
        SearchScope::user(&one, "ada"),
        SearchScope::user(&two, "ada"),
        SearchScope::user(&one, "bob"),
        SearchScope::agent(&one, agent),
        SearchScope::agent(&two, agent),
    ];
    for (place, scope) in scopes.iter().enumerate() {
        assert_eq!(scope.as_str().len(), 33);
        assert!(!scopes[..place].contains(scope));
    }
}
