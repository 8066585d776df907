//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-T4w7CX0k.js", include_bytes!("assets/feed-T4w7CX0k.js")),
    ("assets/index-BE15U_jg.css", include_bytes!("assets/index-BE15U_jg.css")),
    ("assets/index-DLyI3_EO.js", include_bytes!("assets/index-DLyI3_EO.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
