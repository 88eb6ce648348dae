"""Discriminant analysis: classes as normal distributions, of one covariance or of one each."""
