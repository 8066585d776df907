//! Section 7: closes by clients.

use super::{
    case::Case,
    command,
    wire::{CLOSE, CONTINUATION, PING, TEXT, fragments, last, more, reason},
};

/// Codes that a client may send.
const GOOD: [u16; 16] = [
    1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999, 1012, 1013, 1014,
];
/// Reserved and undefined codes.
const BAD: [u16; 11] = [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000];

pub(super) fn cases() -> Vec<Case> {
    let normal = || last(CLOSE, &reason(1000, b""));
    let mut cases = vec![
        Case::new("7.1.1")
            .sends([last(TEXT, &command(1, 40))])
            .expects_reply(1),
        Case::new("7.1.2")
            .sends([normal(), normal()])
            .expects_close(1000),
        Case::new("7.1.3")
            .sends([normal(), last(PING, b"too late")])
            .expects_close(1000),
        Case::new("7.1.4")
            .sends([normal(), last(TEXT, &command(1, 40))])
            .expects_close(1000),
        Case::new("7.1.5")
            .sends([more(TEXT, b"{"), normal(), last(CONTINUATION, b"}")])
            .expects_close(1000),
        // The client closes before it has received everything.
        Case::new("7.1.6")
            .sends(fragments(&command(1, 256 * 1024), 64 * 1024))
            .sends([last(TEXT, &command(2, 40)), normal(), last(PING, b"")])
            .expects_reply(1)
            .expects_reply(2)
            .expects_close(1000),
        Case::new("7.3.1")
            .sends([last(CLOSE, b"")])
            .expects_close_without_code(),
        close_case("7.3.2", b"a").expects_close(1002),
        close_case("7.3.3", &reason(1000, b"")).expects_close(1000),
        close_case("7.3.4", &reason(1000, b"Hello")).expects_close(1000),
        close_case("7.3.5", &reason(1000, &[b'*'; 123])).expects_close(1000),
        close_case("7.3.6", &reason(1000, &[b'*'; 124])).expects_close(1002),
        close_case("7.5.1", &reason(1000, b"\xce\xba\xed\xa0\x80edited")).expects_close(1002),
    ];
    for (index, code) in GOOD.into_iter().enumerate() {
        let case = close_case(&format!("7.7.{}", index + 1), &reason(code, b""));
        cases.push(case.expects_close(code));
    }
    for (index, code) in BAD.into_iter().enumerate() {
        let case = close_case(&format!("7.9.{}", index + 1), &reason(code, b""));
        cases.push(case.expects_close(1002));
    }
    for (number, code) in [("7.13.1", 5_001), ("7.13.2", u16::MAX)] {
        cases.push(close_case(number, &reason(code, b"")).expects_close(1002));
    }
    cases
}

fn close_case(number: &str, payload: &[u8]) -> Case {
    Case::new(number).sends([last(CLOSE, payload)])
}
