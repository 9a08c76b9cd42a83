#if os(Linux)
    import Foundation
    import PictureFixtures
    import ScrollbackPictureScaling
    import ScrollbackPictures
    import Testing

    @Suite("Pixels")
    struct PixelTests {
        /// Returns a copy of the same size in the best JPEG quality.
        private func copy(_ name: String, longestSide: Int = 5_000) throws -> Data {
            try PictureScaler().scaled(PictureFixture.named(name), longestSide: longestSide, quality: 1).jpeg
        }

        @Test("Pictures of all eight orientations are scaled upright", arguments: 1...8)
        func orientations(_ orientation: Int) throws {
            try expectQuarters(copy("orientation-\(orientation).jpg"))
            let pictures = try PictureScaler().messagePictures(PictureFixture.named("orientation-\(orientation).jpg"))
            for picture in [pictures.picture, pictures.thumbnail] {
                #expect(picture.width == 64 && picture.height == 48)
                try expectQuarters(picture.jpeg, within: 20)
            }
        }

        @Test(
            "The orientation is applied from every location, and malformed Exif blocks are ignored",
            arguments: [
                "orientation-6-before-jfif.jpg", "orientation-6-long.jpg", "orientation-6.png", "orientation-6.webp",
                "private.jpg", "private.png", "orientation-9-unknown.jpg", "exif-loop.jpg", "exif-wild-offset.jpg",
                "exif-count-overflow.jpg", "exif-cut.jpg",
            ])
        func orientationIsReadFromEveryLocation(_ name: String) throws {
            try expectQuarters(copy(name))
        }

        @Test(
            "Every kind of JPEG, PNG and WebP keeps its colors",
            arguments: [
                "plain.jpg", "progressive.jpg", "rgb-not-ycc.jpg", "cmyk-adobe.jpg", "ycck-adobe.jpg",
                "private-cmyk.jpg",
                "extraneous-bytes.jpg", "garbage-between-segments.jpg", "trailing-bytes.jpg", "plain.png",
                "interlaced.png",
                "rgb16.png", "palette.png", "p3.png", "p3.jpg", "lossy.webp", "lossless.webp",
            ])
        func kinds(_ name: String) throws {
            try expectQuarters(copy(name))
            try expectQuarters(copy(name, longestSide: 16), within: 10)
        }

        @Test("A grayscale picture stays gray")
        func grey() throws {
            let greys = Colour.quarters.map {
                let light =
                    Double($0.channels[0]) * 0.299 + Double($0.channels[1]) * 0.587 + Double($0.channels[2]) * 0.114
                return Colour(Int(light), Int(light), Int(light))
            }
            try expectQuarters(copy("grey.jpg"), greys)
            let ramp = try #require(Pixels(copy("grey16.png")))
            for x in 0..<64 { #expect(ramp[x, 20].distance(to: Colour(x * 255 / 63, x * 255 / 63, x * 255 / 63)) <= 3) }
            let squares = try #require(Pixels(copy("grey1.png")))
            #expect(squares[4, 4].distance(to: Colour(0, 0, 0)) <= 3 && squares[12, 4].distance(to: .white) <= 3)
        }

        @Test(
            "Transparent pixels are blended with white",
            arguments: ["rgba.png", "rgba16.png", "rgba16-interlaced.png", "alpha.webp", "grey-alpha.png"])
        func transparency(_ name: String) throws {
            let pixels = try #require(Pixels(copy(name)))
            // The pixels are transparent at the left and opaque at the right, or the other way round.
            let isReversed = name == "alpha.webp" && pixels[0, 0].distance(to: .red) < 20
            for x in stride(from: 2, to: 64, by: 4) where !(28...36).contains(x) {
                let opacity = Double(isReversed ? 63 - x : x) / 63
                let colour = name == "grey-alpha.png" ? Colour(60, 60, 60) : x < 32 ? .red : .green
                let seen = pixels[x, 8]
                #expect(seen.distance(to: colour.onWhite(opacity: opacity)) <= 9, "\(x): \(seen)")
            }
        }

        @Test("Transparent palette entries and color keys are blended with white")
        func keys() throws {
            let half = Colour.green.onWhite(opacity: 128 / 255)
            for side in [64, 16] {
                try expectQuarters(
                    copy("palette-alpha.png", longestSide: side), [.white, half, .blue, .yellow], within: 10, "palette")
                try expectQuarters(
                    copy("rgb-colour-key.png", longestSide: side), [.white, .green, .blue, .yellow], within: 10, "key")
                try expectQuarters(
                    copy("grey-colour-key.png", longestSide: side),
                    [.white, Colour(120, 120, 120), Colour(180, 180, 180), Colour(240, 240, 240)], within: 10,
                    "grey key")
            }
        }

        @Test("The color of fully transparent pixels does not affect the copy")
        func hiddenColour() throws {
            let pixels = try #require(Pixels(copy("hidden-colour.png", longestSide: 16)))
            #expect(pixels[8, 6].distance(to: Colour(255, 128, 128)) <= 8, "\(pixels[8, 6])")
        }

        @Test("Each pixel of a smaller copy is the average of the source pixels that it covers")
        func average() throws {
            let source = try #require(Pixels(PictureFixture.named("zone-600x450.jpg")))
            let small = try #require(Pixels(copy("zone-600x450.jpg", longestSide: 200)))
            var squares = 0
            for y in 0..<150 {
                for x in 0..<200 {
                    let nine = (0..<9).map { source[x * 3 + $0 % 3, y * 3 + $0 / 3].channels[0] }
                    let difference = small[x, y].channels[0] - nine.reduce(0, +) / 9
                    squares += difference * difference
                }
            }
            // A mean squared error of 6.5 is a peak signal-to-noise ratio of 40 decibels.
            #expect(Double(squares) / 30_000 < 6.5)
        }

        @Test(
            "Cleaning does not change any pixel",
            arguments: PictureFixture.good.filter { ["jpeg", "png", "webp"].contains($0.type) })
        func cleaning(_ fixture: PictureFixture) throws {
            guard fixture.name != "animated.webp" else { return }
            let data = try fixture.data
            let before = try #require(Pixels(data))
            #expect(try Pixels(PictureFile(data).cleaned()) == before)
        }
    }
#endif
