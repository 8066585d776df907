//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DwJibnnR.js", include_bytes!("assets/feed-DwJibnnR.js")),
    ("assets/index-BXTBVQNS.css", include_bytes!("assets/index-BXTBVQNS.css")),
    ("assets/index-DFZPbhMv.js", include_bytes!("assets/index-DFZPbhMv.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
