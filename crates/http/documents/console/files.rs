//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CWGnuehR.js", include_bytes!("assets/feed-CWGnuehR.js")),
    ("assets/files-xbn5BQTv.js", include_bytes!("assets/files-xbn5BQTv.js")),
    ("assets/index-BZ14Chr_.js", include_bytes!("assets/index-BZ14Chr_.js")),
    ("assets/index-yNNWQV6p.css", include_bytes!("assets/index-yNNWQV6p.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
