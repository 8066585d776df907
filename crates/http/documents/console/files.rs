//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DDdPFaXO.js", include_bytes!("assets/feed-DDdPFaXO.js")),
    ("assets/index-BsQgN0Kz.js", include_bytes!("assets/index-BsQgN0Kz.js")),
    ("assets/index-Bu4RmiuL.css", include_bytes!("assets/index-Bu4RmiuL.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
