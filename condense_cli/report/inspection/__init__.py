"""What fills a transcript, and finding a block in it again."""
