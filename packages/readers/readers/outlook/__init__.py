"""What Outlook stores and sends."""
