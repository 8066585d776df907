//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-oazXVM8C.js", include_bytes!("assets/feed-oazXVM8C.js")),
    ("assets/index-BQgjS5pL.js", include_bytes!("assets/index-BQgjS5pL.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
