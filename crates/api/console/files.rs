//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Kju04_Jz.js", include_bytes!("assets/feed-Kju04_Jz.js")),
    ("assets/index-C_QWtAen.css", include_bytes!("assets/index-C_QWtAen.css")),
    ("assets/index-Dr1i6ihT.js", include_bytes!("assets/index-Dr1i6ihT.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
